'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Producer, newConsumer, newProducer, newTopic, received, send } = require('./clients');

const { EXCLUSIVE, SHARED } = Producer.ACCESS_MODES;

test('a second exclusive producer is fenced', async () => {
  const topic = newTopic();
  await newProducer(topic, EXCLUSIVE);
  await assert.rejects(newProducer(topic, EXCLUSIVE));
});

test('a shared producer is refused where an exclusive one is', async () => {
  const topic = newTopic();
  await newProducer(topic, EXCLUSIVE);
  await assert.rejects(newProducer(topic, SHARED));
});

test('the next exclusive producer gets in', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await (await newProducer(topic, EXCLUSIVE)).close();
  await send(await newProducer(topic, EXCLUSIVE), 'in');
  assert.deepStrictEqual(await received(consumer, 1), ['in']);
});
