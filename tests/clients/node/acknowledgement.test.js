'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, newConsumer, newProducer, newTopic, numbered, received, send, stats, until } = require('./clients');

const backlog = async (topic) => (await stats(topic)).subscriptions.s.msgBacklog;

test('what is acknowledged is no backlog', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await send(await newProducer(topic), ...numbered(5));
  await received(consumer, 5);
  await until('no backlog', async () => (await backlog(topic)) === 0);
});

test('what is not acknowledged is backlog', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic, { onMessage: () => {} });
  await send(await newProducer(topic), ...numbered(5));
  await received(consumer, 5);
  assert.strictEqual(await backlog(topic), 5);
});

test('acknowledging cumulatively includes all before', async () => {
  const topic = newTopic();
  const last = ({ message, ack }) => message.toString() === 'v4' && ack({ type: Consumer.ACK_TYPES.CUMULATIVE });
  const consumer = await newConsumer(topic, { onMessage: last });
  await send(await newProducer(topic), ...numbered(5));
  await received(consumer, 5);
  await until('no backlog', async () => (await backlog(topic)) === 0);
});

test('a batch is done when its last message is acknowledged', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await (await newProducer(topic)).sendBatch({ messages: numbered(5).map((payload) => ({ payload })) });
  await received(consumer, 5);
  await until('no backlog', async () => (await backlog(topic)) === 0);
});
