import { describe, expect, test } from 'vitest';
import { mayConnect, urlProblem } from '../../src/webhooks/destination.ts';

const PRIVATE = [
  ...['127.0.0.1', '127.1.2.3', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
  ...['192.168.1.1', '169.254.169.254', '169.254.0.1', '100.64.0.1', '100.127.255.254'],
  ...['192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1'],
  ...['240.0.0.1', '255.255.255.255', '192.88.99.1'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:a9fe:a9fe', '::127.0.0.1'],
  ...['fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
  ...['2002:7f00:1::', '2002:a9fe:a9fe::1', '64:ff9b::7f00:1', '64:ff9b:1::7f00:1'],
  ...['2001::1', '2001:db8::1', '100::1', '::ffff:0:7f00:1', '2001:10::1', '3fff:ffff::g'],
];
const PUBLIC = ['1.1.1.1', '8.8.8.8', '93.184.215.14', '2606:4700:4700::1111', '2a00:1450::1'];

describe('what may be connected to', () => {
  test.each(PRIVATE)('not %s', (address) => {
    expect(mayConnect(address, 'off')).toBe(false);
  });

  test.each(PUBLIC)('%s', (address) => {
    expect(mayConnect(address, 'off')).toBe(true);
    expect(mayConnect(address, 'loopback')).toBe(true);
  });

  test('loopback and nothing more, if that is allowed', () => {
    const allowed = PRIVATE.filter((address) => mayConnect(address, 'loopback'));
    expect(allowed).toEqual(['127.0.0.1', '127.1.2.3', '::1']);
  });

  test.each(['', 'localhost', '127.1', '2130706433', '0x7f000001', '1.2.3.4.5', 'g::1'])(
    'nothing that is no whole address: %j',
    (text) => {
      for (const mode of ['off', 'loopback', 'on'] as const) {
        expect(mayConnect(text, mode)).toBe(false);
      }
    },
  );
});

describe('the URL of an endpoint', () => {
  const good = [
    'https://shop.example/webhooks',
    'https://shop.example:8443/a?b=c',
    'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]/',
    'https://xn--bcher-kva.example/',
    'https://shop.example./',
  ];
  const bad = [
    ...[
      '',
      'shop.example',
      '/hooks',
      'ftp://shop.example/',
      'file:///etc/passwd',
      'http://a.example/',
    ],
    ...[
      'https://user@shop.example/',
      'https://user:password@shop.example/',
      'https://a.example/#x',
    ],
    ...['https://127.0.0.1/', 'https://2130706433/', 'https://0x7f.1/', 'https://0177.0.0.1/'],
    ...['https://127.1/', 'https://0/', 'https://[::1]/', 'https://[::ffff:127.0.0.1]/'],
    ...['https://[::ffff:7f00:1]/', 'https://[fd00::1]/', 'https://[fe80::1]/', 'https://[::]/'],
    ...['https://[2002:7f00:1::]/', 'https://[64:ff9b::7f00:1]/', 'https://169.254.169.254/latest'],
    ...['https://10.1.2.3/', 'https://100.64.0.1/', 'https://localhost/', 'https://a.localhost/'],
    ...[
      'https://intranet/',
      'https://LOCALHOST./',
      'https://１２７.0.0.1/',
      'https://127。0。0。1/',
    ],
    ...['https://shop.example:22/', 'https://shop.example:25/', 'https://shop.example:6379/'],
    ...['https://shop.example:5432/', `https://shop.example/${'x'.repeat(2_048)}`],
  ];

  test.each(good)('%s', (url) => {
    expect(urlProblem(url, 'off')).toBeUndefined();
  });

  test.each(bad)('not %s', (url) => {
    expect(urlProblem(url, 'off')).toMatch(/^must /);
  });

  test('on this machine by plain HTTP, if that is allowed', () => {
    const local = ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'http://[::1]:3000/'];
    for (const url of local) {
      expect(urlProblem(url, 'loopback')).toBeUndefined();
      expect(urlProblem(url, 'off')).toMatch(/^must /);
    }
    for (const url of ['http://shop.example/', 'http://10.0.0.1/', 'https://10.0.0.1/']) {
      expect(urlProblem(url, 'loopback')).toMatch(/^must /);
      expect(urlProblem(url, 'on')).toBeUndefined();
    }
    expect(urlProblem('http://127.0.0.1:22/', 'on')).toMatch(/port/);
  });
});
