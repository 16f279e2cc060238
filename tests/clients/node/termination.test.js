'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { call, newProducer, newTopic, path, send } = require('./clients');

test('a new producer of a terminated topic is refused', async () => {
  const topic = newTopic();
  await send(await newProducer(topic), 'v');
  await call('POST', `${path(topic)}/terminate`);
  await assert.rejects(newProducer(topic));
});
