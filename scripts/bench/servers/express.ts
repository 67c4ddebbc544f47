// Express with Prisma and express-openapi-validator, which reads this project's contract.
import express, { type NextFunction, type Request, type Response } from 'express'
import * as openapi from 'express-openapi-validator'
import { join } from 'node:path'
import { createProject, getProject, listProjects, updateProject, userOf } from './prisma.ts'

const app = express()
app.use(express.json())
app.use(
  openapi.middleware({
    apiSpec: join(import.meta.dirname, '../../../generated/openapi.json'),
    validateApiSpec: false,
    validateRequests: true,
    validateResponses: false,
    validateSecurity: {
      handlers: {
        async apiKey(request: any) {
          request.userId = await userOf(request.headers.authorization)
          return request.userId !== null
        },
      },
    },
  }),
)

app.get('/v1/projects/:id', async (request: any, response: Response) => {
  const project = await getProject(request.userId, request.params.id)
  if (project === null) response.status(404).json({ error: { code: 'NOT_FOUND' } })
  else response.json(project)
})

app.get('/v1/projects', async (request: any, response: Response) => {
  const { page, limit } = request.query
  response.json(await listProjects(request.userId, page, limit))
})

app.post('/v1/projects', async (request: any, response: Response) => {
  const project = await createProject(request.userId, request.body)
  response.status(201).location(`/v1/projects/${project.id}`).json(project)
})

app.put('/v1/projects/:id', async (request: any, response: Response) => {
  const project = await updateProject(request.userId, request.params.id, request.body)
  if (project === null) response.status(404).json({ error: { code: 'NOT_FOUND' } })
  else response.json(project)
})

app.use((error: any, _request: Request, response: Response, _next: NextFunction) => {
  response.status(error.status ?? 500).json({ error: { code: error.name, message: error.message } })
})

const server = app.listen(0, '127.0.0.1', () => {
  process.stderr.write(`serving at http://127.0.0.1:${(server.address() as { port: number }).port}\n`)
})
