import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Which addresses beside public ones may be connected to, and thereby whether plain HTTP may be used. */
export const PRIVATE_MODES = ['off', 'loopback', 'on'] as const;
export type PrivateMode = (typeof PRIVATE_MODES)[number];

export const MOST_URL_CHARACTERS = 2_048;

/**
 * Ports of services that speak something else and would act on lines of an HTTP request, or that
 * nobody serves webhooks on: mail, shells, files, databases, caches, clusters.
 */
const CLOSED_PORTS = new Set([
  ...[
    0, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 79, 110, 111, 113, 119,
    123,
  ],
  ...[
    135, 137, 138, 139, 143, 161, 179, 389, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540,
  ],
  ...[548, 554, 587, 601, 636, 873, 993, 995, 1080, 1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380],
  ...[
    3128, 3268, 3306, 3389, 4190, 5432, 5672, 5900, 5984, 6000, 6379, 6380, 9042, 9092, 9200, 9300,
  ],
  ...[10250, 11211, 27017],
]);

/** 2000::/3, from which all unicast addresses of the Internet are (RFC 4291, IANA's registry). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address as the system has it may be connected to. What is not surely a public unicast
 * address is not: private, loopback, link-local (and with it the clouds' metadata), carrier's NAT,
 * multicast, and whatever carries another address inside (mapped, 6to4, Teredo, NAT64).
 */
export function mayConnect(address: string, mode: PrivateMode): boolean {
  if (!ipaddr.isValid(address) || isIP(address) === 0) return false;
  if (mode === 'on') return true;
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  // An IPv4 address inside an IPv6 one has another way through the system's tables.
  if (parsed.kind() === 'ipv4' && isIP(address) === 6) return false;
  if (mode === 'loopback' && range === 'loopback') return true;
  if (range !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_IPV6);
}

/**
 * What is wrong with the URL of an endpoint, or undefined. A name may mean any address: that is
 * judged when it is connected to.
 */
export function urlProblem(text: string, mode: PrivateMode): string | undefined {
  if (text.length > MOST_URL_CHARACTERS) {
    return `must have at most ${MOST_URL_CHARACTERS} characters`;
  }
  if (!URL.canParse(text)) return 'must be a whole URL, such as https://shop.example/webhooks';
  const url = new URL(text);
  const { hostname, username, password, hash } = url;
  if (username !== '' || password !== '') return 'must not have a user name or a password';
  if (hash !== '') return 'must not have a fragment';
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && plainAllowed(host, mode))) {
    return 'must begin with https://';
  }
  if (url.port !== '' && CLOSED_PORTS.has(Number(url.port)))
    return 'must not have a port of another service';
  const isAddress = isIP(host) !== 0;
  if (isAddress && !mayConnect(host, mode)) return 'must not have an address that is not public';
  if (isAddress || mode === 'on') return undefined;
  if (isLocalName(host)) {
    return mode === 'loopback' ? undefined : 'must not have a name of this machine';
  }
  return host.includes('.') ? undefined : 'must have a whole host name';
}

function plainAllowed(host: string, mode: PrivateMode): boolean {
  if (mode === 'on') return true;
  if (mode === 'off') return false;
  return isLocalName(host) || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
}

/** RFC 6761 §6.3. */
const isLocalName = (host: string) => /(^|\.)localhost$/i.test(host);
