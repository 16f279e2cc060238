'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { call, newConsumer, newProducer, newTopic, path, received, send } = require('./clients');

// This client knows nothing of partitions: it uses each as the topic that it is.
test('a partition is a topic of its own', async () => {
  const topic = newTopic();
  await call('PUT', `${path(topic)}/partitions`, 2);
  const first = await newConsumer(`${topic}-partition-0`);
  const second = await newConsumer(`${topic}-partition-1`);
  await send(await newProducer(`${topic}-partition-1`), 'v');
  assert.deepStrictEqual(await received(second, 1), ['v']);
  assert.deepStrictEqual(first.values, []);
});
