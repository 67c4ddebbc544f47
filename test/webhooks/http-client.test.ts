// The HTTP client of webhooks: it never connects to an address that is not public, and no response, or
// missing response, of an endpoint costs much time or memory or leaks a descriptor.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { BlockList, connect, createServer, isIP, Socket, type AddressInfo, type Server } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { isPublicAddress } from '../../services/webhooks/ip-filter.ts'
import {
  createWebhookClient,
  WebhookRequestError,
  type WebhookClient,
  type WebhookClientOptions,
  type WebhookRequestErrorReason,
} from '../../services/webhooks/http-client.ts'
import type { Lookup } from '../../services/webhooks/dns.ts'
import { countSockets, openListenerTrap } from '../support/database/listener-trap.ts'
import { waitUntil } from '../support/server/wait.ts'

const loopback = ['127.0.0.0/8', '::1/128']
/** A self-signed test certificate for hooks.example.com and 127.0.0.1, valid from 2025 to 2125. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEM1bVEqve0rgamXx
f9VMWAhrOMu6IyefqSudcMmXIqmhRANCAAST2hxSt7EJrUilwGjVUFp1NUKLL1uT
9tLUMmHYv4xq+cEbYcGL/xq7i7FUgrMADkX2iEuKz05/ftiM0grAcxYo
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBezCCASKgAwIBAgIBATAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFob29rcy5l
eGFtcGxlLmNvbTAgFw0yNTAxMDEwMDAwMDBaGA8yMTI1MDEwMTAwMDAwMFowHDEa
MBgGA1UEAwwRaG9va3MuZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAAST2hxSt7EJrUilwGjVUFp1NUKLL1uT9tLUMmHYv4xq+cEbYcGL/xq7i7FU
grMADkX2iEuKz05/ftiM0grAcxYoo1MwUTAMBgNVHRMBAf8EAjAAMCIGA1UdEQQb
MBmCEWhvb2tzLmV4YW1wbGUuY29thwR/AAABMB0GA1UdDgQWBBRsx3ovjGmKaMBs
14CaVQJqvxFTqjAKBggqhkjOPQQDAgNHADBEAiB0yp80k9tbVoOOvZgDBrX7bh4C
sarh2M2EHkKRg+bEPgIgQAgPqxDBESm6KX+xsxKOfD/v0cwYNoZPsMa8AwcbOtU=
-----END CERTIFICATE-----`

const message = { headers: { 'content-type': 'application/json' }, body: '{}' }

function open(t: Test, options: Partial<WebhookClientOptions> = {}): WebhookClient {
  const webhookClient = createWebhookClient({ allowed: [], ...options })
  t.teardown(() => webhookClient.close())
  return webhookClient
}

/** Listens on loopback until the end of the test. */
async function listen(
  t: Test,
  server: Server,
  host = '127.0.0.1',
): Promise<{ port: number; url: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen({ host, port: 0 })
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://${host}:${port}/hook`, sockets }
}

/** An endpoint that sends these bytes on every connection. */
function saying(...parts: (string | Buffer)[]): Server {
  return createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      for (const part of parts) socket.write(part)
      socket.end()
    })
  })
}

/** An endpoint that repeats a chunk while the connection is open. `sent` counts its bytes. */
function endless(start: string, part: string): { server: Server; sent: () => number } {
  let sent = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    const more = (): void => {
      while (!socket.destroyed) {
        sent += part.length
        if (!socket.write(part)) return
      }
    }
    socket.once('data', () => {
      socket.write(start)
      socket.on('drain', more)
      more()
    })
  })
  return { server, sent: () => sent }
}

/** A lookup that returns the same result for every name. */
function answering(...addresses: string[]): Lookup {
  return (_hostname, _options, callback) =>
    setImmediate(
      callback,
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )
}

async function reasonOf(exchange: Promise<unknown>): Promise<WebhookRequestErrorReason | string> {
  try {
    return `no error, but ${JSON.stringify(await exchange)}`
  } catch (error) {
    return error instanceof WebhookRequestError
      ? error.reason
      : `no WebhookRequestError, but ${String(error)}`
  }
}

/** Addresses of every kind that is not public, as the operating system formats them. */
const forbiddenAddresses = [
  '0.0.0.0',
  '0.0.0.1',
  '0.255.255.255',
  '10.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.0',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.0',
  '127.0.0.1',
  '127.0.0.2',
  '127.1.2.3',
  '127.255.255.255',
  '169.254.0.0',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.255.255',
  '172.16.0.0',
  '172.17.0.1',
  '172.31.255.255',
  '192.0.0.0',
  '192.0.0.192',
  '192.0.0.255',
  '192.0.2.0',
  '192.0.2.2',
  '192.0.2.255',
  '192.31.196.1',
  '192.52.193.1',
  '192.88.99.1',
  '192.175.48.1',
  '192.168.0.0',
  '192.168.1.1',
  '192.168.255.255',
  '198.18.0.0',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.0',
  '203.0.113.255',
  '224.0.0.0',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.0',
  '250.1.2.3',
  '255.255.255.254',
  '255.255.255.255',
  '100.100.100.200',
  '168.63.129.16',
  '::',
  '::1',
  '::2',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::a00:1',
  '100::1',
  '100:0:0:1::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',
  '2001:db8::',
  '2001:db8::1',
  '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
  '2002:7f00:1::',
  '2002:808:808::1',
  '2620:4f:8000::1',
  '3fff::1',
  '3fff:fff::1',
  '4000::1',
  '5f00::1',
  'fc00::',
  'fc00::1',
  'fd00::2',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fdff::1',
  'fe80::',
  'fe80::1',
  'fe80::5efe:7f00:1',
  'fe80::200:5efe:a00:1',
  'febf::1',
  'fec0::1',
  'ff00::1',
  'ff01::1',
  'ff02::1',
  'ff05::1:3',
  'ff0e::1',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
]

/** Other ways to write such addresses in a URL. */
const forbiddenHosts = [
  // Short, decimal, octal, hexadecimal and mixed IPv4.
  '127.1',
  '127.0.1',
  '0',
  '0x0',
  '00',
  '1',
  '2130706433',
  '2130706434',
  '017700000001',
  '0x7f000001',
  '0X7F000001',
  '0x7f.1',
  '0x7f.0.0.1',
  '0x7f.0x0.0x0.0x1',
  '0177.1',
  '0177.0.0.1',
  '0177.0000.0000.0001',
  '00000177.0.0.1',
  '0x0000007f.0.0.1',
  '127.0x0.00.1',
  '0x7f.00.0.01',
  '10.1',
  '10.65535',
  '0xa.1',
  '012.0.0.1',
  '167772161',
  '192.168.257',
  '192.11010305',
  '0xc0a80101',
  '3232235777',
  '0300.0250.1.1',
  '172.1048577',
  '0xac100001',
  '0254.020.0.1',
  '169.254.43518',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '0xa9.0xfe.0xa9.0xfe',
  '4294967295',
  '0xffffffff',
  '255.16777215',
  '3758096385',
  '0xe0000001',
  // Trailing dots.
  '127.0.0.1.',
  '127.1.',
  '2130706433.',
  '0x7f.1.',
  '10.0.0.1.',
  '169.254.169.254.',
  'localhost.',
  // Percent-encoded and full-width letters, digits and dots; circled digits.
  '%31%32%37.0.0.1',
  '127%2E0%2e0%2E1',
  '%30x7f.1',
  '%6c%6f%63%61%6c%68%6f%73%74',
  '１２７.０.０.１',
  '127。0。0。1',
  '127．0．0．1',
  '127｡0｡0｡1',
  '⑯⑨。②⑤④。①⑥⑨。②⑤④',
  '①②⑦.⓪.⓪.①',
  '１０.0.0.1',
  'ｌｏｃａｌｈｏｓｔ',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'LOCALHOST',
  'LocalHost',
  'localhost',
  'app.localhost',
  'a.b.LOCALHOST.',
  '127\u00ad.0.0.1',
  '127.0.\u200b0.1',
  // A user name that looks like a host name.
  'example.com@127.0.0.1',
  'example.com:80@127.0.0.1',
  '8.8.8.8%40@127.0.0.1',
  'example.com%2f@[::1]',
  'a:b@0x7f.1',
  // Long, short, upper-case and dotted IPv6.
  '[::]',
  '[0::0]',
  '[0:0:0:0:0:0:0:0]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::0001]',
  '[0::1]',
  '[::0:0:1]',
  '[::0.0.0.1]',
  '[0:0:0:0:0:0:0.0.0.1]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[::a00:1]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::FFFF:7F00:0001]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[0:0:0:0:0:FFFF:7f00:1]',
  '[0000:0000:0000:0000:0000:ffff:7f00:0001]',
  '[::ffff:0:127.0.0.1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:192.168.1.1]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:FF9B::A00:1]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b::8.8.8.8]',
  '[64:ff9b:1::7f00:1]',
  '[0064:ff9b:0001:0000:0000:0000:127.0.0.1]',
  '[2002:7f00:0001::]',
  '[2002:7F00:1::1]',
  '[2002:a00:1::1]',
  '[2002:a9fe:a9fe::]',
  '[2001:0000:4136:e378:8000:63bf:80ff:fffe]',
  '[2001:0::80ff:fffe]',
  '[2001:DB8::1]',
  '[fe80::5efe:127.0.0.1]',
  '[FE80::0:5EFE:7F00:1]',
  '[FE80::1]',
  '[fe80:0000::1]',
  '[febf:ffff::1]',
  '[FC00::1]',
  '[FD00:EC2::254]',
  '[fd20:ce::254]',
  '[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]',
  '[FF02::1]',
  '[ff02::fb]',
  '[ff0e::1]',
  '[ff05::2]',
  '[0100::1]',
  '[fec0::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[::ffff:255.255.255.255]',
  // Zones, which a URL cannot contain, and other invalid hosts.
  '[fe80::1%25eth0]',
  '[fe80::1%eth0]',
  '[::1%25lo]',
  '[::1%251]',
  '[::1',
  '[127.0.0.1]',
  '127.0.0.1%00.example.com',
  '256.0.0.1',
  '127.0.0.0x100',
  '0x7f.0.0.0.1',
  '[::ffff:127.1]',
  '',
]

t.test('no connection is made to a private address, in any notation of the URL', async (t) => {
  const trap = await openListenerTrap(t)
  t.ok(trap.addresses.length >= 1, trap.addresses.join(', '))
  const opened = countSockets(t)
  // A host that is looked up resolves to the trap.
  const asked: string[] = []
  const webhookClient = open(t, {
    lookup: (hostname, options, callback) => {
      asked.push(hostname)
      answering('127.0.0.1')(hostname, options, callback)
    },
  })

  const urls = [...trap.addresses, ...forbiddenAddresses]
    .map((address) => (isIP(address) === 6 ? `[${address}]` : address))
    .concat(forbiddenHosts)
    .flatMap((host) => [`http://${host}:${trap.port}/hook`, `https://${host}:${trap.port}/hook`])
  urls.push(
    'http://127.0.0.1',
    'http://[::1]',
    'https://169.254.169.254/latest/meta-data/',
    'http:127.0.0.1',
    'http:///127.0.0.1/',
    'http:\\\\127.0.0.1\\',
    ' http://127.0.0.1\n',
    'HTTP://127.0.0.1',
    'http://127.0.0.1?x=http://example.com',
    'http://127.0.0.1#@example.com',
  )
  urls.push(
    'file:///etc/passwd',
    'ftp://8.8.8.8/',
    'gopher://127.0.0.1:25/',
    'unix:/run/docker.sock',
    'data:text/plain,x',
    'ws://8.8.8.8/',
    'javascript:0',
    '//127.0.0.1/',
    '/hook',
    '127.0.0.1',
    'http://',
    '',
  )

  const wrong: string[] = []
  for (const url of urls) {
    const reason = await reasonOf(webhookClient.post(url, message))
    if (reason !== 'refused_address') wrong.push(`${url}: ${reason}`)
    const read = await reasonOf(webhookClient.get(url, { headers: {}, maxBytes: 10 }))
    if (read !== 'refused_address') wrong.push(`GET ${url}: ${read}`)
    if (!webhookClient.isBlockedUrl(url)) wrong.push(`${url}: isBlockedUrl returned false`)
  }
  t.strictSame(wrong, [])
  t.ok(new Set(urls.map((url) => url.replace(/^https:/, 'http:'))).size >= 150, `${urls.length} URLs`)
  t.strictSame(asked, [], 'no host name is looked up')
  t.equal(opened(), 0, 'no socket was opened')
  t.equal(trap.arrived(), 0)
})

t.test('no connection is made to a private address that a name resolves to', async (t) => {
  const trap = await openListenerTrap(t)
  const opened = countSockets(t)
  const answers = [
    ...trap.addresses,
    ...forbiddenAddresses,
    'fe80::1%1',
    'fe80::1%eth0',
    'fe80::1%lo',
    '::1%lo',
    'no address',
    '127.1',
    '0x7f.0.0.1',
    '',
  ].flatMap((address) => [
    [address],
    ['8.8.8.8', address],
    [address, '2606:4700:4700::1111'],
    ['8.8.8.8', '2606:4700:4700::1111', address, '1.1.1.1'],
  ])
  const wrong: string[] = []
  for (const answer of answers) {
    const webhookClient = open(t, { lookup: answering(...answer) })
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://hooks.example.com:${trap.port}/`
      const reason = await reasonOf(webhookClient.post(url, message))
      if (reason !== 'refused_address') wrong.push(`${scheme} ${answer.join(', ')}: ${reason}`)
      const read = await reasonOf(webhookClient.get(url, { headers: {}, maxBytes: 10 }))
      if (read !== 'refused_address') wrong.push(`GET ${scheme} ${answer.join(', ')}: ${read}`)
      if (webhookClient.isBlockedUrl(url)) wrong.push('isBlockedUrl rejects a name without a lookup')
    }
  }
  t.strictSame(wrong, [])
  t.ok(answers.length >= 150, `${answers.length} answers`)
  t.equal(opened(), 0, 'no socket was opened')
  t.equal(trap.arrived(), 0)
})

t.test('the error message does not contain the address', async (t) => {
  const webhookClient = open(t, { lookup: answering('10.9.8.7') })
  for (const url of ['http://db.internal/', 'http://10.9.8.7/']) {
    const error: WebhookRequestError = await webhookClient.post(url, message).then(
      () => t.fail(),
      (error) => error,
    )
    t.equal(error.message, 'The address is not public.')
    t.equal(error.cause, undefined)
  }
})

t.test('a name is resolved once, so a different second result has no effect', async (t) => {
  const trap = await openListenerTrap(t)
  const { server, permitted, allowed } = await permittedServer(t, (_request, response) =>
    response.end('permitted'),
  )
  const later = ['127.0.0.1', ...trap.addresses, '10.0.0.1', '::ffff:127.0.0.1'].filter(
    (address) => address !== permitted,
  )
  let asked = 0
  const webhookClient = open(t, {
    allowed,
    lookup: (hostname, options, callback) =>
      answering(asked++ === 0 ? permitted : later[asked % later.length])(hostname, options, callback),
  })
  const at = (port: number): string => `http://rebinding.example.com:${port}/`
  t.match(await webhookClient.post(at(server.port), message), { status: 200, body: 'permitted' })
  t.equal(asked, 1, 'resolved once, and connected to the checked address')
  for (let i = 0; i < 10; i++)
    t.equal(await reasonOf(webhookClient.post(at(trap.port), message)), 'refused_address')
  t.equal(asked, 11)
  t.equal(trap.arrived(), 0)
})

t.test('a lookup result that changes after the check has no effect', async (t) => {
  let arrived = 0
  const { port } = await listen(
    t,
    createServer(() => {
      arrived++
    }),
  )
  let reads = 0
  const shifty = {
    family: 4,
    get address() {
      return reads++ === 0 ? '127.0.0.2' : '127.0.0.1'
    },
  }
  const webhookClient = open(t, {
    allowed: ['127.0.0.2/32'],
    timeout: 5_000,
    lookup: (_hostname, _options, callback) => callback(null, [shifty]),
  })
  t.match(
    await reasonOf(webhookClient.post(`http://hooks.example.com:${port}/`, message)),
    /^(connection|timeout)$/,
    'no server listens there',
  )
  t.equal(reads, 1)
  t.equal(arrived, 0)
})

t.test('a connection whose remote address is private receives no data', async (t) => {
  let received = 0
  const { url, port, sockets } = await listen(
    t,
    createServer((socket) =>
      socket.on('data', (data) => {
        received += data.length
      }),
    ),
  )
  const webhookClient = open(t, { allowed: loopback })
  // The call behind remoteAddress.
  const prototype = Socket.prototype as unknown as { _getpeername: () => object }
  const getpeername = prototype._getpeername
  t.teardown(() => {
    prototype._getpeername = getpeername
  })
  prototype._getpeername = () => ({ address: '10.0.0.1', family: 'IPv4', port })
  t.equal(await reasonOf(webhookClient.post(url, message)), 'refused_address')
  t.equal(await reasonOf(webhookClient.post(`https://127.0.0.1:${port}/`, message)), 'refused_address')
  prototype._getpeername = getpeername
  await waitUntil(() => sockets.size === 0)
  t.equal(received, 0)
})

t.test('redirects are not followed', async (t) => {
  const trap = await openListenerTrap(t)
  const opened = countSockets(t)
  const { server, permitted, allowed } = await permittedServer(t, (request, response) => {
    const status = Number(request.url!.slice(1))
    response
      .writeHead(status, {
        location: `http://127.0.0.1:${trap.port}/`,
        refresh: `0; url=http://127.0.0.1:${trap.port}/`,
        'alt-svc': `h2="127.0.0.1:${trap.port}"`,
      })
      .end('elsewhere')
  })
  const webhookClient = open(t, { allowed })
  for (const status of [300, 301, 302, 303, 305, 307, 308]) {
    t.strictSame(await webhookClient.post(`http://${permitted}:${server.port}/${status}`, message), {
      status,
      body: 'elsewhere',
    })
  }
  t.equal(opened(), 1, 'one connection, to the endpoint')
  t.equal(trap.arrived(), 0)
})

t.test('proxy settings of the environment are not used', async (t) => {
  const trap = await openListenerTrap(t)
  const { server, permitted, allowed } = await permittedServer(t, (_request, response) => response.end())
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']) {
    const before = process.env[name]
    process.env[name] = `http://127.0.0.1:${trap.port}`
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  t.equal((await open(t, { allowed }).post(`http://${permitted}:${server.port}/`, message)).status, 200)
  t.equal(trap.arrived(), 0)
})

t.test('public addresses are public', async (t) => {
  const addresses = [
    '1.0.0.1',
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '52.95.110.1',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '140.82.121.4',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2001:db7:ffff::1',
    '2001:db9::1',
    '2003::1',
    '2606:4700:4700::1111',
    '2620:4f:7fff::1',
    '2620:4f:8001::1',
    '2620:fe::fe',
    '2a00:1450:4001:81b::200e',
    '3ffe::1',
    '3fff:1000::1',
    '2606:4700:4700::1.1.1.1',
  ]
  t.strictSame(
    addresses.filter((address) => !isPublicAddress(address)),
    [],
  )
  t.strictSame(forbiddenAddresses.filter(isPublicAddress), [])
  const webhookClient = open(t)
  t.strictSame(
    addresses.filter((address) =>
      webhookClient.isBlockedUrl(`https://${isIP(address) === 6 ? `[${address}]` : address}/`),
    ),
    [],
  )
  t.notOk(webhookClient.isBlockedUrl('https://example.com/hook'))
  t.notOk(webhookClient.isBlockedUrl('https://localhost.example.com/hook'))
  t.notOk(webhookClient.isBlockedUrl('https://notlocalhost/hook'))
})

t.test('net.BlockList of Node gives the same result for addresses of every kind', async (t) => {
  // One list for each family: in a shared list ::/3 would block ::ffff:0:0/96, and with it all of IPv4.
  const blocked = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const [network, bits] of [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['168.63.129.16', 32],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.31.196.0', 24],
    ['192.52.193.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['192.175.48.0', 24],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
  ] as const)
    blocked.ipv4.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of [
    ['::', 3],
    ['2001::', 23],
    ['2001:db8::', 32],
    ['2002::', 16],
    ['2620:4f:8000::', 48],
    ['3fff::', 20],
    ['4000::', 2],
    ['8000::', 1],
  ] as const)
    blocked.ipv6.addSubnet(network, bits, 'ipv6')
  // A fixed sequence, so that a failure is reproducible.
  let state = 1
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const firsts = ['2001', '2002', '2620', '3fff', 'fe80', 'fd00', '64', '0', '2a00']
  const differ: string[] = []
  let found = 0
  for (let i = 0; i < 20_000; i++) {
    const address =
      i % 2 === 0
        ? [
            [192, 198, 203, 172, 169, 100, 168, random(256)][random(8)],
            [0, 168, 18, 51, 64, 31, random(256)][random(7)],
            [0, 2, 100, 113, 129, random(256)][random(6)],
            random(256),
          ].join('.')
        : [
            firsts[random(firsts.length)],
            ['0', 'db8', '4f', '1ff', '200', random(65_536).toString(16)][random(6)],
            ['0', '8000', random(65_536).toString(16)][random(3)],
            ...Array.from({ length: 5 }, () => random(65_536).toString(16)),
          ].join(':')
    const family = i % 2 === 0 ? 'ipv4' : 'ipv6'
    const open = isPublicAddress(address)
    if (open) found++
    if (open === blocked[family].check(address, family)) differ.push(address)
  }
  t.strictSame(differ, [])
  t.ok(found > 2_000 && found < 18_000, `${found} of 20,000 are public`)
})

t.test('a string that is not an address in the format of the system is not public', async (t) => {
  const strings = [
    '',
    ' ',
    '8',
    '8.8',
    '8.8.8',
    '8.8.8.8 ',
    ' 8.8.8.8',
    '8.8.8.8.',
    '08.8.8.8',
    '0x8.8.8.8',
    '134744072',
    '8.8.8.8/32',
    '8.8.8.8:80',
    '[2606:4700:4700::1111]',
    '2606:4700:4700::1111%1',
    '2606:4700:4700::1111%',
    '2606:::1',
    'example.com',
    '８.8.8.8',
  ]
  t.strictSame(strings.filter(isPublicAddress), [])
})

t.test('an allowed network is reached, with exactly the given request', async (t) => {
  const requests: { method?: string; url?: string; headers: unknown; rawHeaders: string[]; body: string }[] =
    []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks).toString(),
      })
      response.writeHead(201, { 'set-cookie': 'a=b' }).end('taken')
    })
  }
  const { port } = await listen(t, createHttpServer(listener))
  const hosts = ['127.0.0.1', '0x7f.1', 'hooks.example.com']
  if (await available('::1')) hosts.push(`[::1]:${(await listen(t, createHttpServer(listener), '::1')).port}`)
  const webhookClient = open(t, { allowed: loopback, lookup: answering('127.0.0.1') })
  const body = JSON.stringify({ text: 'Grüße, 世界 👋', long: 'x'.repeat(300_000) })
  for (const host of hosts) {
    const authority = host.startsWith('[') ? host : `${host}:${port}`
    const url = `http://user:secret@${authority}/hook/ä?a=1&b=%20#fragment`
    t.notOk(webhookClient.isBlockedUrl(url))
    t.strictSame(
      await webhookClient.post(url, {
        headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1', 'user-agent': 'platform' },
        body,
      }),
      { status: 201, body: 'taken' },
    )
    const request = requests.at(-1)!
    t.match(request, { method: 'POST', url: '/hook/%C3%A4?a=1&b=%20', body })
    t.strictSame(
      request.headers,
      {
        host: host === '0x7f.1' ? `127.0.0.1:${port}` : authority,
        connection: 'keep-alive',
        'content-type': 'application/json',
        'webhook-id': 'evt_1',
        'user-agent': 'platform',
        'content-length': `${Buffer.byteLength(body)}`,
      },
      'only these headers: no cookies, no credentials, no Accept-Encoding',
    )
  }
  t.equal(requests.length, hosts.length)
})

t.test('an allowed network does not allow other networks', async (t) => {
  const trap = await openListenerTrap(t)
  const isBlockedUrl = (allowed: string[], address: string): boolean =>
    open(t, { allowed }).isBlockedUrl(`http://${isIP(address) === 6 ? `[${address}]` : address}/`)
  const judged = [
    {
      allowed: ['10.0.0.0/8'],
      no: ['127.0.0.1', '192.168.0.1', '::1', '::ffff:127.0.0.1', '::10.0.0.1', '::a00:1', '64:ff9b::a00:1'],
      yes: ['10.0.0.1', '10.255.255.255', '::ffff:10.0.0.1', '::ffff:a00:1', '8.8.8.8'],
    },
    { allowed: ['10.1.2.3/32'], no: ['10.1.2.2', '10.1.2.4', '::ffff:10.1.2.4'], yes: ['10.1.2.3'] },
    { allowed: ['127.0.0.1/8'], no: ['::1', '::127.0.0.1'], yes: ['127.0.0.1', '127.255.255.255'] },
    { allowed: ['::1/128'], no: ['127.0.0.1', '::', '::2', '::ffff:127.0.0.1'], yes: ['::1'] },
    {
      allowed: ['::/0'],
      no: ['10.0.0.1', '::ffff:10.0.0.1'],
      yes: ['::1', 'fd00::1', 'fe80::1', '64:ff9b::a00:1'],
    },
    {
      allowed: ['0.0.0.0/0'],
      no: ['::1', 'fd00::1'],
      yes: ['10.0.0.1', '255.255.255.255', '::ffff:10.0.0.1'],
    },
    {
      allowed: ['fd00::/8', '192.168.0.0/16'],
      no: ['fc00::1', 'fe80::1', '10.0.0.1'],
      yes: ['fd12:3456::1', '192.168.7.7'],
    },
  ]
  for (const { allowed, no, yes } of judged) {
    t.strictSame(
      no.filter((address) => !isBlockedUrl(allowed, address)),
      [],
      `${allowed} does not allow it`,
    )
    t.strictSame(
      yes.filter((address) => isBlockedUrl(allowed, address)),
      [],
      `${allowed} allows`,
    )
  }
  t.ok(open(t, { allowed: ['10.0.0.0/8'] }).isBlockedUrl('http://localhost/'))
  for (const allowed of [['127.0.0.0/8'], ['::1/128'], loopback])
    t.notOk(open(t, { allowed }).isBlockedUrl('http://localhost/'), 'as localhost resolves')
  t.equal(
    await reasonOf(
      open(t, { allowed: ['127.0.0.0/8'], lookup: answering('::127.0.0.1') }).post(
        `http://compatible.example.com:${trap.port}/`,
        message,
      ),
    ),
    'refused_address',
  )
  t.equal(
    await reasonOf(
      open(t, { allowed: ['10.0.0.0/8', '::1/128'], lookup: answering('::1', '127.0.0.1') }).post(
        `http://localhost:${trap.port}/`,
        message,
      ),
    ),
    'refused_address',
  )
  t.equal(trap.arrived(), 0)
})

t.test('an invalid network throws', async (t) => {
  for (const network of [
    '10.0.0.0',
    '10.0.0.0/33',
    '::1/129',
    'localhost/8',
    '',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
  ]) {
    t.throws(() => createWebhookClient({ allowed: [network] }), /ipaddr/, network)
  }
})

t.test('an IPv4-mapped address of an allowed network is reached over IPv4', async (t) => {
  const { port } = await listen(
    t,
    createHttpServer((_request, response) => response.end('mapped')),
  )
  t.match(await open(t, { allowed: ['127.0.0.0/8'] }).post(`http://[::ffff:127.0.0.1]:${port}/`, message), {
    status: 200,
    body: 'mapped',
  })
})

t.test('names are resolved by the default lookup', async (t) => {
  const { port } = await listen(
    t,
    createHttpServer((_request, response) => response.end('local')),
  )
  t.match(await open(t, { allowed: loopback }).post(`http://localhost:${port}/`, message), {
    status: 200,
    body: 'local',
  })
})

t.test('one of several addresses that accepts connections is found', async (t) => {
  const { port } = await listen(
    t,
    createHttpServer((_request, response) => response.end('found')),
  )
  for (const addresses of [
    ['127.0.0.3', '127.0.0.1'],
    ['::1', '127.0.0.1'],
    ['127.0.0.3', '::1', '127.0.0.4', '127.0.0.1'],
  ]) {
    const webhookClient = open(t, { allowed: loopback, lookup: answering(...addresses) })
    t.match(
      await webhookClient.post(`http://hooks.example.com:${port}/`, message),
      { status: 200, body: 'found' },
      addresses.join(', '),
    )
  }
})

t.test('an unknown host name is reported', async (t) => {
  const failing: Lookup = (hostname, _options, callback) =>
    callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), [])
  t.equal(
    await reasonOf(open(t, { lookup: failing }).post('http://nowhere.example.com/', message)),
    'unknown_host',
  )
  t.equal(
    await reasonOf(open(t, { lookup: answering() }).post('http://empty.example.com/', message)),
    'unknown_host',
  )
})

t.test('a closed port is reported', async (t) => {
  const server = createServer()
  const { port } = await listen(t, server)
  server.close()
  await once(server, 'close')
  t.equal(
    await reasonOf(open(t, { allowed: loopback }).post(`http://127.0.0.1:${port}/`, message)),
    'connection',
  )
  t.equal(
    await reasonOf(
      open(t, { allowed: loopback, lookup: answering('127.0.0.1', '::1') }).post(
        `http://hooks.example.com:${port}/`,
        message,
      ),
    ),
    'connection',
  )
})

t.test('the first KiB of a response is returned, as text that PostgreSQL accepts', async (t) => {
  const kept = async (body: Buffer | string): Promise<string> => {
    const { url } = await listen(
      t,
      createHttpServer((_request, response) => response.end(body)),
    )
    return (await open(t, { allowed: loopback }).post(url, message)).body
  }
  t.equal(await kept(''), '')
  t.equal(await kept('thanks'), 'thanks')
  t.equal(await kept('a'.repeat(1024)), 'a'.repeat(1024))
  t.equal(await kept('a'.repeat(1025)), 'a'.repeat(1024))
  t.equal(await kept('ä'.repeat(600)), 'ä'.repeat(512))
  t.equal(await kept('a' + 'ä'.repeat(600)), 'a' + 'ä'.repeat(511), 'cut between characters')
  t.equal(await kept('ab' + '👋'.repeat(300)), 'ab' + '👋'.repeat(255), 'cut between characters')
  t.equal(await kept('a'.repeat(1023) + 'ä'), 'a'.repeat(1023))
  t.equal(
    await kept('a'.repeat(1021) + '👋'),
    'a'.repeat(1021),
    'without a U+FFFD for the truncated character',
  )
  t.equal(await kept('a\0b\0'), 'a\ufffdb\ufffd')
  t.equal(
    await kept(Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xc3])),
    'a\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffd',
    'an incomplete character at the end, too',
  )
  t.equal(
    await kept(Buffer.alloc(5_000)),
    '\ufffd'.repeat(341),
    'at most 1 KiB, including the replacement characters',
  )
  t.equal(await kept(Buffer.alloc(5_000, 0xff)), '\ufffd'.repeat(341))
  t.equal(await kept('a'.repeat(60_000)), 'a'.repeat(1024))
})

t.test('responses are not decompressed', async (t) => {
  const { url } = await listen(
    t,
    createHttpServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip at all'),
    ),
  )
  t.strictSame(await open(t, { allowed: loopback }).post(url, message), {
    status: 200,
    body: 'not gzip at all',
  })
})

t.test('responses with every kind of framing are read', async (t) => {
  const webhookClient = open(t, { allowed: loopback })
  const answers: [string, { status: number; body: string }][] = [
    ['HTTP/1.0 200 OK\r\n\r\nuntil the end', { status: 200, body: 'until the end' }],
    ['HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end', { status: 200, body: 'until the end' }],
    ['HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '' }],
    ['HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone', { status: 410, body: 'gone' }],
    [
      'HTTP/1.1 500 \r\ntransfer-encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nx-trailer: y\r\n\r\n',
      { status: 500, body: 'no' },
    ],
    [
      'HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n',
      { status: 202, body: '' },
    ],
    [
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n',
      { status: 200, body: 'ok' },
    ],
    [
      `HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n${'x'.repeat(70_000)}`,
      { status: 200, body: 'x'.repeat(1024) },
    ],
  ]
  for (const [bytes, expected] of answers) {
    const { url } = await listen(t, saying(bytes))
    t.strictSame(await webhookClient.post(url, message), expected, bytes.slice(0, 60))
  }
})

t.test('an invalid response is reported', async (t) => {
  const webhookClient = open(t, { allowed: loopback })
  const answers: [string, WebhookRequestErrorReason][] = [
    ['SSH-2.0-OpenSSH_9.9\r\n', 'response'],
    ['HTTP/1.1 2000 OK\r\n\r\n', 'response'],
    ['HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n', 'response'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 'response'],
    [`HTTP/1.1 200 OK\r\n${`x-long: ${'x'.repeat(1_000)}\r\n`.repeat(2_000)}\r\n`, 'response'],
    [`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(2_000_000)}`, 'response'],
    [`HTTP/1.1 200 OK\r\n${'x'.repeat(2_000_000)}`, 'response'],
    [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n' +
        `${`x-long: ${'x'.repeat(1_000)}\r\n`.repeat(2_000)}\r\n`,
      'response',
    ],
    ['HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n', 'connection'],
    ['HTTP/1.1 100 Continue\r\n\r\n', 'connection'],
    ['HTTP/1.1 200 OK\r\n', 'connection'],
    ['', 'connection'],
  ]
  for (const [bytes, expected] of answers) {
    const { url } = await listen(t, saying(bytes))
    t.equal(await reasonOf(webhookClient.post(url, message)), expected, bytes.slice(0, 60))
  }
  for (const bytes of [
    'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nfour',
  ]) {
    const { url } = await listen(t, saying(bytes))
    t.match(
      await reasonOf(webhookClient.post(url, message)),
      /^(connection|response)$/,
      'a truncated response',
    )
  }
})

t.test('a reset connection is reported, and not opened again', async (t) => {
  const webhookClient = open(t, { allowed: loopback })
  for (const when of ['at once', 'after the request', 'in the answer']) {
    let connections = 0
    const { url } = await listen(
      t,
      createServer((socket) => {
        connections++
        socket.on('error', () => {})
        if (when === 'at once') return socket.resetAndDestroy()
        socket.once('data', () => {
          if (when === 'after the request') return socket.resetAndDestroy()
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour', () => socket.resetAndDestroy())
        })
      }),
    )
    t.match(await reasonOf(webhookClient.post(url, message)), /^(connection|response)$/, when)
    t.equal(connections, 1, when)
  }
})

t.test('an endless response is read up to 64 KiB, without an error', async (t) => {
  const starts = ['HTTP/1.1 200 OK\r\n\r\n', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n']
  const webhookClient = open(t, { allowed: loopback })
  for (const [i, part] of ['y'.repeat(16_384), `4000\r\n${'y'.repeat(16_384)}\r\n`].entries()) {
    const { server, sent } = endless(starts[i], part)
    const { url, sockets } = await listen(t, server)
    const before = process.memoryUsage()
    for (let n = 0; n < 20; n++)
      t.strictSame(await webhookClient.post(url, message), { status: 200, body: 'y'.repeat(1024) })
    await waitUntil(() => sockets.size === 0)
    // The kernel's buffers accept some megabytes before the sender has to wait.
    t.ok(sent() < 20 * 16 * 1024 ** 2, `${sent()} bytes were sent`)
    const after = process.memoryUsage()
    t.ok(
      after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers < 64 * 1024 ** 2,
      'memory',
    )
  }
})

t.test('an endless response outside the body is aborted, too', async (t) => {
  const webhookClient = open(t, { allowed: loopback, timeout: 30_000 })
  const floods = {
    'interim answers': endless('', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(500)),
    'chunk extensions': endless(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;',
      'x'.repeat(16_384),
    ),
    'empty lines': endless('', '\r\n'.repeat(8_000)),
    'a name of a header': endless('HTTP/1.1 200 OK\r\n', 'x'.repeat(16_384)),
    'a value of a header': endless('HTTP/1.1 200 OK\r\nx: ', 'x'.repeat(16_384)),
    'a reason': endless('HTTP/1.1 200 ', 'x'.repeat(16_384)),
    trailers: endless(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n',
      'x-a: y\r\n'.repeat(2_000),
    ),
  }
  for (const [what, { server, sent }] of Object.entries(floods)) {
    const { url, sockets } = await listen(t, server)
    t.equal(await reasonOf(webhookClient.post(url, message)), 'response', what)
    await waitUntil(() => sockets.size === 0)
    t.ok(sent() < 32 * 1024 ** 2, `${what}: ${sent()} bytes`)
  }
})

t.test('every slow step ends at the time-out', async (t) => {
  const silent = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const deaf = await listen(
    t,
    createServer((socket) => socket.pause()),
  )
  const slow = await listen(
    t,
    createHttpServer(() => {}),
  )
  const dribble = (start: string, part: string): Server =>
    createServer((socket) => {
      socket.on('error', () => {})
      socket.write(start)
      const timer = setInterval(() => socket.write(part), 10)
      socket.on('close', () => clearInterval(timer))
    })
  const dribblingBody = await listen(t, dribble('HTTP/1.1 200 OK\r\n\r\n', 'x'))
  const dribblingChunks = await listen(
    t,
    dribble('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'),
  )
  const dribblingHead = await listen(t, dribble('HTTP/1.1 200 OK\r\nx-a: ', 'x'))
  const dribblingInterim = await listen(t, dribble('', 'HTTP/1.1 102 Processing\r\n\r\n'))
  const webhookClient = open(t, { allowed: loopback, timeout: 300, lookup: () => {} })
  const urls = [silent, slow, dribblingBody, dribblingChunks, dribblingHead, dribblingInterim].map(
    ({ url }) => url,
  )
  urls.push(
    `https://127.0.0.1:${silent.port}/`,
    'http://hanging-lookup.example.com/',
    'https://hanging-lookup.example.com/',
  )
  const reasons = await Promise.all(urls.map((url) => reasonOf(webhookClient.post(url, message))))
  t.strictSame(
    reasons,
    urls.map(() => 'timeout'),
  )
  t.equal(
    await reasonOf(webhookClient.post(deaf.url, { ...message, body: 'x'.repeat(64 * 1024 ** 2) })),
    'timeout',
    'a request body that is not read',
  )
  // The endpoint that does not read does not notice.
  for (const { sockets } of [silent, slow, dribblingBody, dribblingChunks, dribblingHead, dribblingInterim])
    await waitUntil(() => sockets.size === 0)
  const error: WebhookRequestError = await webhookClient.post(silent.url, message).then(
    () => t.fail(),
    (error) => error,
  )
  t.equal(error.message, 'The endpoint did not respond completely within 0.3 seconds.')
})

t.test(
  'a connection that is never accepted ends at the time-out, and leaves no socket',
  { skip: process.platform !== 'linux' && 'only Linux ignores connections to a full queue' },
  async (t) => {
    // The stopped process accepts no connections from its queue, which has room for one or two.
    const child = spawn(
      process.execPath,
      [
        '-e',
        `require('net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
          console.log(this.address().port)
        })`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    t.teardown(() => child.kill('SIGKILL'))
    const [line] = await once(child.stdout, 'data')
    const port = Number(String(line))
    child.kill('SIGSTOP')
    let waiting = false
    for (let i = 0; i < 20 && !waiting; i++) {
      const filler = connect({ host: '127.0.0.1', port })
      filler.on('error', () => {})
      t.teardown(() => filler.destroy())
      waiting = await Promise.race([
        once(filler, 'connect').then(() => false),
        new Promise<boolean>((resolve) => setTimeout(resolve, 500, true)),
      ])
    }
    t.ok(waiting, 'the queue is full')
    const before = resources()
    const webhookClient = open(t, {
      allowed: loopback,
      timeout: 200,
      lookup: answering('127.0.0.1', '127.0.0.1'),
    })
    t.equal(await reasonOf(webhookClient.post(`http://127.0.0.1:${port}/`, message)), 'timeout')
    t.equal(await reasonOf(webhookClient.post(`https://hooks.example.com:${port}/`, message)), 'timeout')
    await waitUntil(() => resources() <= before)
  },
)

t.test('a lookup that completes after the time-out opens no connection', async (t) => {
  const trap = await openListenerTrap(t)
  const opened = countSockets(t)
  let answer = (): void => {}
  const webhookClient = open(t, {
    allowed: loopback,
    timeout: 50,
    lookup: (_hostname, _options, callback) => {
      answer = () => callback(null, [{ address: '127.0.0.1', family: 4 }])
    },
  })
  t.equal(await reasonOf(webhookClient.post(`http://hooks.example.com:${trap.port}/`, message)), 'timeout')
  answer()
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(opened(), 0)
  t.equal(trap.arrived(), 0)
})

t.test(
  'a connection is used again, unless the endpoint closes it or sends more than the response',
  async (t) => {
    let connections = 0
    let requests = 0
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => {})
      socket.on('data', () => {
        requests++
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        if (requests === 3)
          setTimeout(() => socket.write('HTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n'))
        if (requests === 5) setTimeout(() => socket.end())
      })
    })
    const { url, sockets } = await listen(t, server)
    const webhookClient = open(t, { allowed: loopback })
    const post = async (): Promise<unknown> =>
      t.strictSame(await webhookClient.post(url, message), { status: 200, body: 'ok' })
    await post()
    await post()
    t.equal(connections, 1, 'the same connection')
    await post()
    await waitUntil(() => sockets.size === 0, 'the connection with the unasked response to end')
    await post()
    t.equal(connections, 2)
    await post()
    await waitUntil(() => sockets.size === 0, 'the closed connection to end')
    await post()
    t.equal(connections, 3)
    t.equal(requests, 6)
  },
)

t.test('a request on a connection that the endpoint closes at this moment is sent again', async (t) => {
  let connections = 0
  const server = createServer((socket) => {
    let requests = 0
    connections++
    socket.on('error', () => {})
    socket.on('data', () => {
      if (++requests === 2) return socket.destroy()
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const { url } = await listen(t, server)
  const webhookClient = open(t, { allowed: loopback })
  for (let i = 0; i < 3; i++)
    t.strictSame(await webhookClient.post(url, message), { status: 200, body: 'ok' })
  t.equal(connections, 3)
})

t.test('an aborted signal ends the request with its reason', async (t) => {
  const { url, sockets } = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const webhookClient = open(t, { allowed: loopback })
  const reason = new Error('aborted by the test')
  const controller = new AbortController()
  const exchange = webhookClient.post(url, { ...message, signal: controller.signal })
  await waitUntil(() => sockets.size === 1)
  controller.abort(reason)
  t.equal(await exchange.catch((error) => error), reason)
  await waitUntil(() => sockets.size === 0)
  t.equal(
    await webhookClient.post(url, { ...message, signal: controller.signal }).catch((error) => error),
    reason,
    'a signal that is already aborted starts no request',
  )
  t.equal(sockets.size, 0)
})

t.test('close aborts running requests, and later requests are rejected', async (t) => {
  const silent = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const dribbling = await listen(
    t,
    createServer((socket) => {
      socket.resume().write('HTTP/1.1 200 OK\r\n\r\nx')
    }),
  )
  const opened = countSockets(t)
  const webhookClient = createWebhookClient({ allowed: loopback, lookup: () => {} })
  const urls = [
    silent.url,
    dribbling.url,
    `https://127.0.0.1:${silent.port}/`,
    'http://hanging-lookup.example.com/',
  ]
  const ended = Promise.all(urls.map((url) => webhookClient.post(url, message).catch((error) => error)))
  await waitUntil(() => silent.sockets.size === 2 && dribbling.sockets.size === 1)
  await webhookClient.close()
  for (const error of await ended) {
    t.match(error, { message: 'the webhook client was closed' })
    t.notOk(error instanceof WebhookRequestError, 'the error does not blame the endpoint')
  }
  await waitUntil(() => silent.sockets.size + dribbling.sockets.size === 0)
  await t.rejects(webhookClient.post(silent.url, message), /the webhook client is closed/)
  t.equal(opened(), 3)
  await webhookClient.close()
})

t.test('200 failed requests leak nothing', async (t) => {
  const reset = await listen(
    t,
    createServer((socket) => {
      socket.on('error', () => {})
      socket.resetAndDestroy()
    }),
  )
  const silent = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const garbage = await listen(t, saying('garbage\r\n\r\n'))
  const flood = await listen(t, endless('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)).server)
  const gone = createServer()
  const { port: closedPort } = await listen(t, gone)
  gone.close()
  await once(gone, 'close')
  const servers = [reset, silent, garbage, flood]
  const webhookClient = open(t, {
    allowed: ['127.0.0.1/32'],
    timeout: 100,
    lookup: (hostname, options, callback) =>
      hostname.startsWith('hang') ? undefined : answering('10.0.0.1')(hostname, options, callback),
  })
  const urls = [
    ...servers.flatMap(({ port }) => [`http://127.0.0.1:${port}/`, `https://127.0.0.1:${port}/`]),
    `http://127.0.0.1:${closedPort}/`,
    'http://10.0.0.1/',
    'http://private.example.com/',
    'http://hang.example.com/',
  ]
  await Promise.all(urls.map((url) => reasonOf(webhookClient.post(url, message))))
  await waitUntil(() => servers.every(({ sockets }) => sockets.size === 0))
  const before = { resources: resources(), descriptors: descriptors() }
  for (let round = 0; round < 20; round++)
    await Promise.all(urls.map((url) => reasonOf(webhookClient.post(url, message))))
  await waitUntil(() => servers.every(({ sockets }) => sockets.size === 0))
  t.ok(urls.length * 20 >= 200, `${urls.length * 20} exchanges`)
  await waitUntil(
    () => resources() <= before.resources && descriptors() <= before.descriptors,
    'sockets, timers and descriptors to be released',
  )
  t.pass('no additional socket, timer or descriptor')
})

t.test('the certificate of an endpoint is verified for its host name', async (t) => {
  const names: unknown[] = []
  let requests = 0
  const server = createHttpsServer(
    {
      key,
      cert,
      SNICallback: (name, callback) => {
        names.push(name)
        callback(null)
      },
    },
    (_request, response) => {
      requests++
      response.end('secure')
    },
  )
  const { port } = await listen(t, server)
  const webhookClient = open(t, { allowed: loopback, lookup: answering('127.0.0.1') })
  const failure = async (host: string): Promise<WebhookRequestError> =>
    await webhookClient.post(`https://${host}:${port}/`, message).then(
      () => t.fail(),
      (error) => error,
    )

  // Node warns about this setting.
  const { emitWarning } = process
  process.emitWarning = () => {}
  t.teardown(() => {
    process.emitWarning = emitWarning
  })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.match(
    await failure('hooks.example.com'),
    { reason: 'tls', message: 'The certificate is self-signed.' },
    'regardless of NODE_TLS_REJECT_UNAUTHORIZED',
  )
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  t.match(await failure('127.0.0.1'), { reason: 'tls', message: 'The certificate is self-signed.' })

  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  t.teardown(() => setDefaultCACertificates(trusted))
  t.match(await failure('other.example.com'), {
    reason: 'tls',
    message: 'The certificate is for another host name.',
  })
  t.equal(requests, 0)
  t.strictSame(await webhookClient.post(`https://hooks.example.com:${port}/`, message), {
    status: 200,
    body: 'secure',
  })
  t.strictSame(await webhookClient.post(`https://127.0.0.1:${port}/`, message), {
    status: 200,
    body: 'secure',
  })
  t.equal(requests, 2)
  t.strictSame(
    names,
    ['hooks.example.com', 'other.example.com', 'hooks.example.com'],
    'an IP address is not sent as server name',
  )
  const plain = await listen(
    t,
    createHttpServer((_request, response) => response.end()),
  )
  t.match(await webhookClient.post(`https://127.0.0.1:${plain.port}/`, message).catch((error) => error), {
    reason: 'tls',
    message: 'The TLS connection failed.',
  })
  t.equal(
    await reasonOf(webhookClient.post(`http://127.0.0.1:${port}/`, message)),
    'connection',
    'plain HTTP to a TLS port',
  )
})

t.test('a response over TLS has the same limits', async (t) => {
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  t.teardown(() => setDefaultCACertificates(trusted))
  const server = createHttpsServer({ key, cert }, (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('z'.repeat(16_384)));
    }
    response.on('drain', more)
    more()
  })
  const { port, sockets } = await listen(t, server)
  const interim = createHttpsServer({ key, cert }, (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.socket!.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(500)));
    }
    response.socket!.on('drain', more)
    more()
  })
  const flood = await listen(t, interim)
  const webhookClient = open(t, { allowed: loopback, timeout: 30_000 })
  t.strictSame(await webhookClient.post(`https://127.0.0.1:${port}/`, message), {
    status: 200,
    body: 'z'.repeat(1024),
  })
  t.equal(await reasonOf(webhookClient.post(`https://127.0.0.1:${flood.port}/`, message)), 'response')
  await waitUntil(() => sockets.size + flood.sockets.size === 0)
})

t.test('an invalid header is an error of the caller, not of the endpoint', async (t) => {
  const { url, sockets } = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const error = await open(t, { allowed: loopback })
    .post(url, { headers: { 'x-a': 'b\r\nx-c: d' }, body: '' })
    .catch((error) => error)
  t.ok(error instanceof Error)
  t.notOk(error instanceof WebhookRequestError)
  await waitUntil(() => sockets.size === 0)
})

/** An HTTP server on its own loopback address, so that allowing the address does not allow the trap. */
async function permittedServer(
  t: Test,
  listener: RequestListener,
): Promise<{ server: { port: number }; permitted: string; allowed: string[] }> {
  const address = (await available('127.0.0.5')) ? '127.0.0.5' : '127.0.0.1'
  const server = await listen(t, createHttpServer(listener), address)
  return { server, permitted: address, allowed: [`${address}/32`] }
}

async function available(host: string): Promise<boolean> {
  const server = createServer()
  try {
    server.listen({ host, port: 0 })
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** The sockets, lookups and timers that keep the process alive. */
function resources(): number {
  return process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout|GetAddrInfo/.test(name)).length
}

/** The open files and sockets of this process; 0 where the system does not report them. */
function descriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
}
