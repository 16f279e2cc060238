'use strict';

// What every test starts from: topics of its own, and a client that says nothing on stdout.
// The client subscribes at the latest message always, so tests subscribe before they send.

const { randomUUID } = require('node:crypto');
const { readFileSync } = require('node:fs');
const tls = require('node:tls');

// This client has no TLS, and takes the address without TLS from a lookup. So it gets a socket with TLS to the service.
const factory = require.resolve('pulsar-flex/src/client/network/socket/socketFactory');
const plainSocket = require(factory);
require.cache[factory].exports = (address) => (broker.tls ? secureSocket() : plainSocket(address));

const { Consumer, Producer } = require('pulsar-flex');

const ARRIVES_MS = 15000;
const QUIET_MS = 400;
const POLLING_MS = 20;
const SILENT = 0;

// The broker under test. With `tls` (what tls.connect takes), every connection uses it.
let broker = {
  service: required('PULSAR_SERVICE_URL'),
  admin: required('PULSAR_ADMIN_URL'),
  jwt: process.env.PULSAR_TOKEN || undefined,
  tls: process.env.PULSAR_TRUST_CERTS ? { ca: readFileSync(process.env.PULSAR_TRUST_CERTS) } : undefined,
};

/** From here on, clients and requests use another broker. */
function useBroker(other) {
  broker = other;
}

const server = () => new URL(broker.service).host;

function secureSocket() {
  const { hostname: host, port } = new URL(broker.service);
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ ...broker.tls, host, port, servername: host }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function required(variable) {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set; tests/clients/run.py sets it`);
  return value;
}

const unique = () => `node-${randomUUID().slice(0, 13)}`;
const newTopic = (namespace = 'public/default') => `persistent://${namespace}/${unique()}`;

/** A request to the admin API; its JSON answer, if there is one. */
async function call(method, path, body) {
  const authorization = broker.authorization ?? (broker.jwt ? `Bearer ${broker.jwt}` : undefined);
  const answer = await fetch(`${broker.admin}/admin/v2/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

async function newNamespace() {
  const namespace = `public/${unique()}`;
  await call('PUT', `namespaces/${namespace}`, {});
  return namespace;
}

const path = (topic) => topic.replace('://', '/');
const stats = (topic) => call('GET', `${path(topic)}/stats`);

async function newProducer(topic, producerAccessMode) {
  const { jwt } = broker;
  const producer = new Producer({ topic, discoveryServers: [server()], jwt, producerAccessMode, logLevel: SILENT });
  await producer.create();
  return producer;
}

/**
 * A subscribed consumer that keeps what it receives in `messages` (and `values`, as text).
 * `onMessage` decides about acknowledgements; by default each message is acknowledged.
 */
async function newConsumer(topic, { subType = Consumer.SUB_TYPES.EXCLUSIVE, name = 's', onMessage, ...options } = {}) {
  const consumer = new Consumer({
    topic,
    subscription: name,
    subType,
    discoveryServers: [server()],
    jwt: broker.jwt,
    consumerName: options.consumerName ?? unique(),
    receiveQueueSize: options.queue ?? 500,
    readCompacted: options.readCompacted ?? false,
    logLevel: SILENT,
  });
  await consumer.subscribe();
  consumer.messages = [];
  await consumer.run({
    autoAck: false,
    onMessage: async (message) => {
      consumer.messages.push(message);
      await (onMessage ?? ((each) => each.ack()))(message);
    },
  });
  Object.defineProperty(consumer, 'values', { get: () => consumer.messages.map((each) => each.message.toString()) });
  return consumer;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns when the condition holds; throws after a deadline. */
async function until(what, condition) {
  const end = Date.now() + ARRIVES_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${ARRIVES_MS / 1000} s`);
    await pause(POLLING_MS);
  }
}

/** The values that a consumer has after it got `count` messages and then no more. */
async function received(consumer, count) {
  await until(`${count} messages`, () => consumer.messages.length >= count);
  await pause(QUIET_MS);
  return consumer.values;
}

const numbered = (count) => Array.from({ length: count }, (_, index) => `v${index}`);

async function send(producer, ...values) {
  for (const payload of values) await producer.sendMessage({ payload });
}

module.exports = {
  Consumer, Producer, call, newConsumer, newNamespace, newProducer, newTopic, numbered, path, received, required, send,
  stats, until, useBroker,
};
