// Fastify with fastify-openapi-glue in its default configuration: the contract in CONTRACT, validated by
// Fastify's Ajv.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import glue from 'fastify-openapi-glue'

const app = Fastify({ ajv: { customOptions: { strict: false, validateFormats: false } } })
await app.register(glue, {
  specification: JSON.parse(readFileSync(process.env.CONTRACT!, 'utf8')),
  operationResolver: () => async () => ({ status: 'ok' }),
} as never)
await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`serving at http://127.0.0.1:${(app.server.address() as { port: number }).port}\n`)
