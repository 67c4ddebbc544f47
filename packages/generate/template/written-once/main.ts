// `npm start`: serves at http://127.0.0.1:3000, or at the port of the environment variable PORT.
import { createServer } from './generated/server.ts'

const app = await createServer()
const port = Number(process.env.PORT ?? 3000)
console.log(`Serving at ${await app.listen({ host: process.env.HOST ?? '127.0.0.1', port })}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    void app.close().then(() => process.exit(0))
  })
