// Serves a mock for a command, until a signal ends the process.
import { noticesOf } from '@platform-api/openapi/faults.ts'
import type { MockProfile } from './profile.ts'
import { createMock } from './server.ts'

/** For `parseArgs`. */
export const serveOptions = {
  real: { type: 'string' },
  port: { type: 'string', default: '4010' },
  key: { type: 'string' },
  seed: { type: 'string', default: '1' },
} as const

interface Values {
  real?: string
  port: string
  key?: string
  seed: string
}

/**
 * @param read reads the document, after the options were checked.
 * @throws Error if an option is wrong, or the document cannot be read.
 */
export async function serveMock(
  read: () => Promise<object>,
  profile: MockProfile,
  values: Values,
): Promise<void> {
  const port = Number(values.port)
  if (!/^\d+$/.test(values.port) || port > 65535)
    throw new Error(`--port must be a whole number from 0 to 65535, not ${values.port || 'empty'}.`)
  const document = (await read()) as { paths: object }
  for (const notice of noticesOf(document)) console.error(notice)
  const real = values.real?.replace(/\/$/, '')
  const app = await createMock({
    document,
    seed: Number(values.seed),
    key: values.key,
    profile,
    real,
    onAnswer: (line) => console.log(line),
  })
  const address = await app.listen({ host: '127.0.0.1', port })
  console.log(
    `Mocking ${Object.keys(document.paths).length} paths at ${address}` +
      (real === undefined ? '' : `; operations of ${real} are forwarded`),
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void app.close().then(() => process.exit(0))
    })
}
