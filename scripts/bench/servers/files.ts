// A minimal Fastify file server: disk and SHA-256, without keys, a database, content types or fsync.
// Interrupted uploads are not removed.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import Fastify from 'fastify'
import multipart from '@fastify/multipart'

const folder = process.env.STORAGE_DIR!
const app = Fastify()
await app.register(multipart, { limits: { fileSize: Infinity } })

app.post('/v1/storage/upload', async (request, reply) => {
  const part = (await request.file())!
  const id = randomUUID()
  const hash = createHash('sha256')
  const hashing = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk as Buffer)
      done(null, chunk)
    },
  })
  await pipeline(part.file, hashing, createWriteStream(join(folder, id)))
  return reply.code(201).send({ id, sha256: hash.digest('hex') })
})

app.get('/v1/storage/files/:id/download', async (request, reply) => {
  const path = join(folder, (request.params as { id: string }).id)
  const { size } = await stat(path)
  return reply.header('content-length', size).type('application/octet-stream').send(createReadStream(path))
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`serving at http://127.0.0.1:${(app.server.address() as { port: number }).port}\n`)
