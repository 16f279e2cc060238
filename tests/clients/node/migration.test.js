'use strict';

const assert = require('node:assert');
const { execFile } = require('node:child_process');
const { test } = require('node:test');
const { promisify } = require('node:util');
const { newConsumer, newNamespace, newProducer, newTopic, numbered, received, send, useBroker } = require('./clients');

const { GREEN_SERVICE_URL: green, MIGRATE: migrate } = process.env;
const without = green ? false : 'there is no other cluster to move to';

// This client speaks an older version of the protocol, without TOPIC_MIGRATED.
test('a producer of a topic that has moved is told the new address', { skip: without }, async () => {
  const topic = newTopic(await newNamespace());
  await send(await newProducer(topic), 'v');
  await promisify(execFile)(migrate, [topic]);
  await assert.rejects(newProducer(topic), (error) => error.message.includes(green));
});

// It has no acknowledgment that its next connection remembers. The application starts a consumer at the new address.
test('a consumer that starts again at the new address gets what is left', { skip: without }, async () => {
  const topic = newTopic(await newNamespace());
  const isKept = (message) => ['v0', 'v1'].includes(message.message.toString());
  const consumer = await newConsumer(topic, { onMessage: (message) => isKept(message) && message.ack() });
  await send(await newProducer(topic), ...numbered(5));
  await received(consumer, 5);
  await consumer.unsubscribe();
  await promisify(execFile)(migrate, [topic]);
  useBroker({ service: green });
  assert.deepStrictEqual(await received(await newConsumer(topic), 3), numbered(5).slice(2));
});
