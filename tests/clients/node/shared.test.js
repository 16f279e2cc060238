'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, newConsumer, newProducer, newTopic, numbered, send, until } = require('./clients');

const subType = Consumer.SUB_TYPES.SHARED;

test('consumers share the messages', async () => {
  const topic = newTopic();
  const one = await newConsumer(topic, { subType });
  const two = await newConsumer(topic, { subType });
  await send(await newProducer(topic), ...numbered(20));
  await until('twenty messages', () => one.messages.length + two.messages.length === 20);
  assert.ok(one.messages.length > 0 && two.messages.length > 0);
  assert.deepStrictEqual([...one.values, ...two.values].sort(), numbered(20).sort());
});
