'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, newConsumer, newProducer, newTopic, send, until } = require('./clients');

test('a refused message comes again and is counted', async () => {
  const topic = newTopic();
  const consumer = await newConsumer(topic, {
    subType: Consumer.SUB_TYPES.SHARED,
    onMessage: ({ redeliveryCount, ack }) => ack(redeliveryCount < 2 ? { type: Consumer.ACK_TYPES.NEGATIVE } : {}),
  });
  await send(await newProducer(topic), 'v');
  await until('three deliveries', () => consumer.messages.length === 3);
  assert.deepStrictEqual(consumer.messages.map((each) => each.redeliveryCount), [0, 1, 2]);
});
