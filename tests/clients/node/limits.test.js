'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Consumer, call, newConsumer, newNamespace, newProducer, newTopic } = require('./clients');

test('one producer too many is refused', async () => {
  const namespace = await newNamespace();
  await call('POST', `namespaces/${namespace}/maxProducersPerTopic`, 1);
  const topic = newTopic(namespace);
  await newProducer(topic);
  await assert.rejects(newProducer(topic));
});

test('one consumer too many is refused', async () => {
  const namespace = await newNamespace();
  await call('POST', `namespaces/${namespace}/maxConsumersPerTopic`, 1);
  const topic = newTopic(namespace);
  const subType = Consumer.SUB_TYPES.SHARED;
  await newConsumer(topic, { subType });
  await assert.rejects(newConsumer(topic, { subType }));
});
