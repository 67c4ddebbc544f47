// Express with express-openapi-validator and one route. CONTRACT is the path of the OpenAPI document.
import { readFileSync } from 'node:fs'
import express from 'express'
import * as openapi from 'express-openapi-validator'

const app = express()
app.use(express.json())
app.use(
  openapi.middleware({
    apiSpec: JSON.parse(readFileSync(process.env.CONTRACT!, 'utf8')),
    validateApiSpec: false,
    validateRequests: true,
    validateResponses: true,
    validateSecurity: { handlers: { apiKey: async () => true } },
  }),
)
app.get('/healthz', (_request, response) => {
  response.json({ status: 'ok' })
})

const server = app.listen(0, '127.0.0.1', () => {
  process.stderr.write(`serving at http://127.0.0.1:${(server.address() as { port: number }).port}\n`)
})
