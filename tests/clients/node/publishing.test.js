'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { newConsumer, newProducer, newTopic, numbered, received, send } = require('./clients');

test('messages arrive in order', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await send(await newProducer(topic), ...numbered(50));
  assert.deepStrictEqual(await received(consumer, 50), numbered(50));
});

test('properties travel with a message', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await (await newProducer(topic)).sendMessage({ payload: 'v', properties: { p: '1' } });
  await received(consumer, 1);
  assert.deepStrictEqual(consumer.messages[0].properties, { p: '1' });
});

test('a batch arrives whole, each message with its properties', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  const messages = numbered(20).map((payload) => ({ payload, properties: { is: payload } }));
  await (await newProducer(topic)).sendBatch({ messages });
  assert.deepStrictEqual(await received(consumer, 20), numbered(20));
  assert.deepStrictEqual(consumer.messages.map((each) => each.properties.is), numbered(20));
});
