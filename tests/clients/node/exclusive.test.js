'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { newConsumer, newProducer, newTopic, numbered, received, send } = require('./clients');

test('a second consumer is refused', async () => {
  const topic = newTopic();
  await newConsumer(topic);
  await assert.rejects(newConsumer(topic));
});

// Its unsubscribe() closes the consumer; the subscription stays.
test('the next consumer gets what was not acknowledged', async () => {
  const topic = newTopic();
  const first = await newConsumer(topic, { onMessage: () => {} });
  await send(await newProducer(topic), ...numbered(3));
  await received(first, 3);
  await first.unsubscribe();
  assert.deepStrictEqual(await received(await newConsumer(topic), 3), numbered(3));
});
