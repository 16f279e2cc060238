'use strict';

// TLS and authentication, on the broker of SECURED_SERVICE_URL and SECURED_ADMIN_URL. This client sends tokens only: a
// token of OAuth 2.0 is fetched for it, passwords are for the admin API, and it cannot renew a token.

const assert = require('node:assert');
const { createHmac } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { test } = require('node:test');
const {
  call, newConsumer, newProducer, newTopic, path, received, required, send, stats, until, useBroker,
} = require('./clients');

const AT_ONCE_MS = 5000; // less than the time after which this client tries again

const file = (name) => readFileSync(`${required('SECURED_CREDENTIALS')}/${name}`);

function secured({ jwt, authorization, certificate, ca = 'ca.pem' } = {}) {
  const own = certificate && { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) };
  useBroker({
    service: required('SECURED_SERVICE_URL'),
    admin: required('SECURED_ADMIN_URL'),
    jwt,
    authorization,
    tls: { ca: file(ca), ...own },
  });
}

const good = () => file('token').toString();

/** A token that the broker accepts for some seconds. */
function signed(role, seconds) {
  const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${encoded({ alg: 'HS256' })}.${encoded({ sub: role, exp: Math.floor(Date.now() / 1000) + seconds })}`;
  return `${body}.${createHmac('sha256', file('secret.key')).update(body).digest('base64url')}`;
}

async function fetched(name) {
  const { client_id: id, client_secret: secret } = JSON.parse(file(name));
  const found = await (await fetch(`${required('SECURED_ISSUER_URL')}/.well-known/openid-configuration`)).json();
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, audience: 'pulsar' };
  const answer = await (await fetch(found.token_endpoint, { method: 'POST', body: new URLSearchParams(form) })).json();
  return answer.access_token;
}

async function exchanges() {
  const topic = newTopic();
  const consumer = await newConsumer(topic);
  await send(await newProducer(topic), 'hello');
  assert.deepStrictEqual(await received(consumer, 1), ['hello']);
  assert.strictEqual((await stats(topic)).msgInCounter, 1);
}

async function isRefused(given) {
  secured(given);
  const started = Date.now();
  await assert.rejects(newProducer(newTopic()), { name: 'PulsarFlexConnectionError' });
  assert.ok(Date.now() - started < AT_ONCE_MS);
}

test('with TLS and a token, messages arrive and topics are administered', async () => {
  secured({ jwt: good() });
  await exchanges();
});

test('with mutual TLS and a token, messages arrive and topics are administered', async () => {
  secured({ jwt: good(), certificate: 'client' });
  await exchanges();
});

test('with a token of OAuth 2.0, messages arrive and topics are administered', async () => {
  secured({ jwt: await fetched('oauth.json') });
  await exchanges();
});

test('with a user and a password, topics are administered', async () => {
  secured({ authorization: `Basic ${Buffer.from('admin:open sesame').toString('base64')}` });
  const topic = newTopic();
  await call('PUT', path(topic));
  await call('DELETE', path(topic));
});

test('a wrong token is a connection error at once', () => isRefused({ jwt: `${good()}AAAA` }));

test('no token is a connection error at once', () => isRefused({}));

test('wrong credentials do not administer', async () => {
  for (const authorization of [`Bearer ${good()}AAAA`, `Basic ${Buffer.from('admin:guessed').toString('base64')}`]) {
    secured({ authorization });
    await assert.rejects(call('GET', 'tenants'), /401/);
  }
});

test('a client whose token expires is disconnected', async () => {
  const topic = newTopic();
  secured({ jwt: signed('admin', 3) });
  await newProducer(topic);
  secured({ jwt: good() });
  assert.strictEqual((await stats(topic)).publishers.length, 1);
  await until('the producer is gone', async () => (await stats(topic)).publishers.length === 0);
});
