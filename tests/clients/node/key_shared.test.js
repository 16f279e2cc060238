'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, newConsumer, newProducer, newTopic, numbered, send, stats, until } = require('./clients');

const subType = Consumer.SUB_TYPES.KEY_SHARED;

// This client sends no keys: each message has a hash of its own.
test('messages without a key are spread', async () => {
  const topic = newTopic();
  const one = await newConsumer(topic, { subType });
  const two = await newConsumer(topic, { subType });
  await send(await newProducer(topic), ...numbered(40));
  await until('forty messages', () => one.messages.length + two.messages.length === 40);
  assert.ok(one.messages.length > 0 && two.messages.length > 0);
  assert.strictEqual((await stats(topic)).subscriptions.s.type, 'Key_Shared');
});
