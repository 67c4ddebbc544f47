// The proxies of deploy/ in front of servers that a test starts: the files themselves, with the addresses of
// the test.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../../scripts/test/free-port.ts'
import { acceptsConnections } from '../../../scripts/test/accepts-connections.ts'
import { waitUntil } from '../server/wait.ts'

export type ProxyName = 'haproxy' | 'nginx'

const deploy = join(import.meta.dirname, '../../../deploy')

const binaryOf = (name: ProxyName): string | undefined =>
  [`/usr/sbin/${name}`, `/usr/bin/${name}`, `/usr/local/bin/${name}`].find((path) => existsSync(path))

/** The `skip` option of a test that needs the proxy. */
export const skipWithout = (name: ProxyName): string | false =>
  binaryOf(name) === undefined && `no ${name} on this machine`

/** @returns the URL of the proxy in front of servers at these ports. The end of the test stops it. */
export async function startProxy(
  t: Pick<Test, 'teardown'>,
  name: ProxyName,
  servers: [number, number],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [port, plainPort] = [await freePort(), await freePort()]
  const file = name === 'haproxy' ? haproxyFile : nginxFile
  const main = file(folder, { port, plainPort, servers })
  const check = name === 'haproxy' ? ['-c', '-f', main] : ['-t', '-c', main]
  const checked = spawnSync(binaryOf(name)!, check, { encoding: 'utf8' })
  if (checked.status !== 0) throw new Error(`${checked.stdout}${checked.stderr}`)
  const child = spawn(binaryOf(name)!, name === 'haproxy' ? ['-db', '-f', main] : ['-c', main], {
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  await waitUntil(() => acceptsConnections(port), name)
  return `http://127.0.0.1:${port}`
}

interface Addresses {
  port: number
  plainPort: number
  servers: [number, number]
}

function haproxyFile(folder: string, { port, plainPort, servers }: Addresses): string {
  const file = join(folder, 'haproxy.cfg')
  const text = replaced(readFileSync(join(deploy, 'haproxy.cfg'), 'utf8'), {
    'bind :80\n': `bind 127.0.0.1:${plainPort}\n`,
    'bind :443 ssl crt /etc/haproxy/certs/api.pem alpn h2,http/1.1': `bind 127.0.0.1:${port}`,
    '10.0.0.11:3000': `127.0.0.1:${servers[0]}`,
    '10.0.0.12:3000': `127.0.0.1:${servers[1]}`,
  })
  writeFileSync(file, text)
  return file
}

function nginxFile(folder: string, { port, plainPort, servers }: Addresses): string {
  const text = replaced(readFileSync(join(deploy, 'nginx.conf'), 'utf8'), {
    'listen 80;': `listen 127.0.0.1:${plainPort};`,
    'listen 443 ssl http2;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/nginx/certs/api.pem;': '',
    'ssl_certificate_key /etc/nginx/certs/api.key;': '',
    '10.0.0.11:3000': `127.0.0.1:${servers[0]}`,
    '10.0.0.12:3000': `127.0.0.1:${servers[1]}`,
  })
  writeFileSync(join(folder, 'platform.conf'), text)
  const main = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const lines = [
    'daemon off;',
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `pid ${folder}/nginx.pid;`,
    `error_log ${folder}/error.log;`,
    'events {}',
    'http {',
    '  access_log off;',
    ...temporary.map((kind) => `  ${kind}_temp_path ${folder}/${kind};`),
    `  include ${folder}/platform.conf;`,
    '}',
    '',
  ]
  writeFileSync(main, lines.join('\n'))
  return main
}

/** @throws when a text to replace is not in the file. */
function replaced(text: string, replacements: Record<string, string>): string {
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`The example has no ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}
