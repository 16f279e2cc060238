'use strict';

const assert = require('node:assert');
const { execFile } = require('node:child_process');
const { test } = require('node:test');
const { promisify } = require('node:util');
const { newNamespace, newProducer, newTopic, send } = require('./clients');

const { GREEN_SERVICE_URL: green, MIGRATE: migrate } = process.env;
const without = green ? false : 'there is no other cluster to move to';

// This client speaks an older version of the protocol, without TOPIC_MIGRATED.
test('a producer of a topic that has moved is told the new address', { skip: without }, async () => {
  const topic = newTopic(await newNamespace());
  await send(await newProducer(topic), 'v');
  await promisify(execFile)(migrate, [topic]);
  await assert.rejects(newProducer(topic), (error) => error.message.includes(green));
});
