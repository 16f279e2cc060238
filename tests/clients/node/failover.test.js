'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, newConsumer, newProducer, newTopic, numbered, received, send, until } = require('./clients');

const subType = Consumer.SUB_TYPES.FAILOVER;

test('one of two consumers gets the messages, in order', async () => {
  const topic = newTopic();
  const consumers = [await newConsumer(topic, { subType }), await newConsumer(topic, { subType })];
  await send(await newProducer(topic), ...numbered(10));
  await until('ten messages', () => consumers.some((each) => each.messages.length >= 10));
  const [active, standby] = consumers[0].messages.length ? consumers : consumers.reverse();
  assert.deepStrictEqual(await received(active, 10), numbered(10));
  assert.deepStrictEqual(standby.values, []);
});
