// This server without events; the difference is the cost of an event.
import { buildApp, addressOf } from '../../../app/build.ts'
import { policiesOf } from '../../../app/server.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { createRateLimits } from '../../../app/http/rate-limit.ts'
import { createServices } from '../../../services/services.ts'

const config = readConfig()
const services = createServices({ config, databaseUrl: config.databaseUrl! })
services.events.emit = async () => ({ id: '', deliveryIds: [] })
const limits = await createRateLimits({ policies: policiesOf(config), redisUrl: null })
const app = await buildApp({ services, limits })
await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`serving at ${addressOf(app)}\n`)
