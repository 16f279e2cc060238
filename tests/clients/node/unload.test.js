'use strict';

const { test } = require('node:test');
const { call, newProducer, newTopic, path, send } = require('./clients');

test('a producer comes back after an unload', async () => {
  const topic = newTopic();
  const producer = await newProducer(topic);
  await send(producer, 'before');
  await call('PUT', `${path(topic)}/unload`);
  await send(producer, 'after');
});
