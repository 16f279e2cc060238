'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { newConsumer, newProducer, newTopic, numbered, received, send, stats } = require('./clients');

test('the client is described in the stats', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic, { consumerName: 'me' });
  await send(await newProducer(topic), ...numbered(3));
  await received(consumer, 3);
  const shown = await stats(topic);
  assert.strictEqual(shown.msgInCounter, 3);
  assert.strictEqual(shown.publishers.length, 1);
  assert.strictEqual(shown.subscriptions.s.consumers[0].consumerName, 'me');
  assert.strictEqual(shown.subscriptions.s.msgOutCounter, 3);
});
