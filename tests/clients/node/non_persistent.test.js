'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { newConsumer, newProducer, newTopic, numbered, received, send } = require('./clients');

test('connected consumers get the messages of a non-persistent topic', async () => {
  const topic = newTopic().replace('persistent', 'non-persistent');
  const consumer = await newConsumer(topic);
  await send(await newProducer(topic), ...numbered(10));
  assert.deepStrictEqual(await received(consumer, 10), numbered(10));
});
