// Sends HTTP requests byte by byte, to test input that no client library would send.
import { connect } from 'node:net'
import type { TestServer } from '../server/server.ts'

export interface RawReply {
  status: number
  headers: Map<string, string[]>
  text: string
  body: any
}

/**
 * Sends the request line, header lines and body unchanged. The answer is everything until the server closes.
 */
export async function sendRaw(
  { url }: TestServer,
  requestLine: string,
  headers: string[] = [],
  body: string | Uint8Array = '',
): Promise<RawReply> {
  const { hostname, port } = new URL(url)
  const length =
    Buffer.byteLength(body as string) > 0 && !headers.some((line) => /^content-length:/i.test(line))
      ? [`content-length: ${Buffer.byteLength(body as string)}`]
      : []
  const raw = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${requestLine}`)))
    socket
      .on('data', (chunk) => chunks.push(chunk))
      .on('error', reject)
      .on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.write([requestLine, 'host: test', 'connection: close', ...headers, ...length, '', ''].join('\r\n'))
    socket.write(body)
  })
  const end = raw.indexOf('\r\n\r\n')
  const [statusLine, ...lines] = raw.slice(0, end).split('\r\n')
  const found = new Map<string, string[]>()
  for (const line of lines) {
    const [name, ...value] = line.split(':')
    found.set(name.toLowerCase(), [...(found.get(name.toLowerCase()) ?? []), value.join(':').trim()])
  }
  const text = raw.slice(end + 4)
  const isJson =
    found.get('content-type')?.[0].startsWith('application/json') === true && text.startsWith('{')
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: found,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}
