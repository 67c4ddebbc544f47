// Slow clients: each gets 408 after the timeout, and other clients are served meanwhile.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const slowClients = 500

t.test('500 slow clients are cut off with 408 and do not delay other requests', async (t) => {
  const server = await startServer(t, { env: { REQUEST_TIMEOUT: '2' } })
  const { client, key } = await server.person()
  const { port } = new URL(server.url)
  const sockets: Array<{ socket: Socket; answer: string; closed: boolean }> = []
  for (let i = 0; i < slowClients; i++) {
    const socket = connect(Number(port), '127.0.0.1')
    const state = { socket, answer: '', closed: false }
    sockets.push(state)
    socket.on('data', (chunk) => {
      state.answer += chunk
    })
    socket.on('close', () => {
      state.closed = true
    })
    socket.on('error', () => {})
    // Half of the clients never finish their headers, half never their body.
    socket.write(
      i % 2 === 0
        ? 'GET /v1/projects HTTP/1.1\r\nhost: x\r\nx-slow: '
        : [
            'POST /v1/projects HTTP/1.1',
            'host: x',
            `authorization: Bearer ${key}`,
            'content-type: application/json',
            'content-length: 1000',
            '',
            '{',
          ].join('\r\n'),
    )
  }
  const sendSlowly = setInterval(() => {
    for (const { socket, closed } of sockets) if (!closed) socket.write(' ')
  }, 300)
  t.teardown(() => {
    clearInterval(sendSlowly)
    for (const { socket } of sockets) socket.destroy()
  })

  for (let i = 0; i < 20; i++) t.equal((await client.post('/projects', { name: 'meanwhile' })).status, 201)
  await waitUntil(() => sockets.every(({ closed }) => closed), 'all slow clients to be cut off')
  const answered = sockets.filter(
    ({ answer }) => answer.includes('HTTP/1.1 408') && answer.includes('"code":"REQUEST_TIMEOUT"'),
  )
  t.equal(
    answered.length,
    slowClients,
    `${answered.length} got 408; another answer was: ` +
      sockets.find((s) => !s.answer.includes('408'))?.answer,
  )
  t.equal((await client.get('/projects')).body.pagination.total, 20)
})

t.test('malformed or oversized HTTP is answered in the common error shape', async (t) => {
  const server = await startServer(t)
  const { port } = new URL(server.url)
  const send = async (text: string): Promise<string> =>
    await new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1')
      let answer = ''
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('close', () => resolve(answer))
      socket.on('error', () => {})
      socket.write(text)
    })
  t.match(await send('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"/)
  t.match(
    await send(`GET / HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`),
    /^HTTP\/1\.1 431 [^]*"code":"INVALID_REQUEST"/,
  )
  t.match(
    await send('GET /v1/projects/%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    /^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"/,
  )
})

t.test('a request whose body never completes is answered and its connection closed', async (t) => {
  const server = await startServer(t, { env: { REQUEST_TIMEOUT: '1' } })
  const { client, key } = await server.person()
  const { port } = new URL(server.url)
  const withKey = `host: x\r\nauthorization: Bearer ${key}\r\n`
  const requests = {
    'rejected with 401': 'POST /v1/projects HTTP/1.1\r\nhost: x\r\n',
    'rejected with 404': 'POST /v1/nothing HTTP/1.1\r\nhost: x\r\n',
    'rejected with 400': 'POST /v1/projects/%zz HTTP/1.1\r\nhost: x\r\n',
    'rejected with 415': `POST /v1/storage/upload HTTP/1.1\r\n${withKey}`,
    'answered without reading the body': `GET /v1/projects HTTP/1.1\r\n${withKey}`,
    'answered with a stream, without reading the body': `GET /v1/events/stream HTTP/1.1\r\n${withKey}`,
  }
  const sockets = Object.entries(requests).map(([what, head]) => {
    const state = { what, socket: connect(Number(port), '127.0.0.1'), answer: '', closed: false }
    state.socket.on('data', (chunk) => {
      state.answer += chunk
    })
    state.socket.on('close', () => {
      state.closed = true
    })
    state.socket.on('error', () => {})
    state.socket.write(`${head}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`)
    return state
  })
  const sendSlowly = setInterval(() => {
    for (const { socket, closed } of sockets) if (!closed) socket.write(' ')
  }, 100)
  t.teardown(() => {
    clearInterval(sendSlowly)
    for (const { socket } of sockets) socket.destroy()
  })
  for (const state of sockets) {
    await waitUntil(() => state.closed, `the connection to close: ${state.what}`)
    t.match(state.answer, /^HTTP\/1\.1 (200|40[0145]|415) /, state.what)
  }
  t.equal((await client.get('/projects')).status, 200, 'other requests are served')
})
