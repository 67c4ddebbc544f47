// The rights of a chat are the same for `POST /ai/chat` and for OpenAI's clients: tenants with each role,
// keys of each kind, projects and knowledge bases of the caller and of others, and ids that do not exist.
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import type { Scope } from '../../services/users/scopes.ts'
import { ranks } from '../../services/projects/access.ts'
import { createApiKey, createKnowledgeBase, createProject } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import type { ProjectRole } from '../support/operations/operation-fixture.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t, { env: { RATE_LIMIT_AI: '1000000' } })
const stranger = await server.person()
const model = 'extractive-1'
const messages = [{ role: 'user', content: 'Where is the lantern?' }]

for (const role of Object.keys(ranks) as ProjectRole[]) {
  t.test(`the role ${role}: 14 requests with each of four keys through both operations`, async (t) => {
    const caller = await server.person()
    const place = { server, caller, role }
    const [project, other] = [await createProject(place), await createProject(place)]
    const own = await createKnowledgeBase(server, caller.id)
    const inProject = await createKnowledgeBase(server, server.admin.id, { projectId: project })
    const inOther = await createKnowledgeBase(server, server.admin.id, { projectId: other })
    const foreign = await createKnowledgeBase(server, stranger.id)
    const bodies = {
      nothing: {},
      'a project': { project_id: project },
      'an archived project': { project_id: await createProject(place, 'archived') },
      'a deleted project': { project_id: await createProject(place, 'deleted') },
      'no such project': { project_id: newId('prj') },
      'a knowledge base of a user': { knowledge_base_ids: [own] },
      'one of a project': { knowledge_base_ids: [inProject] },
      'one of a project, with the project': { project_id: project, knowledge_base_ids: [inProject] },
      'one of another project': { project_id: project, knowledge_base_ids: [inOther] },
      'one of a user, with the project': { project_id: project, knowledge_base_ids: [own] },
      'one of a stranger': { knowledge_base_ids: [foreign] },
      'no such knowledge base': { knowledge_base_ids: [newId('kb')] },
      'one of each': { knowledge_base_ids: [own, inProject, foreign] },
      'a model that does not exist': { model: 'none' },
    }
    const scopes: Scope[] = ['ai:write']
    const keys = {
      'all scopes': caller.key,
      'a chat and no more': (await createApiKey(server, caller.id, { scopes })).secret,
      'no chat': (await createApiKey(server, caller.id, { scopes: ['ai:read'] })).secret,
      'one project': (await createApiKey(server, caller.id, { projectIds: [project] })).secret,
    }
    const outcomes = new Set<number>()
    for (const [key, secret] of Object.entries(keys)) {
      const client = createClient(server.url, secret)
      for (const [subject, fields] of Object.entries(bodies)) {
        const body = { model, messages, ...fields }
        const [ours, theirs] = [
          await client.post('/ai/chat', body),
          await client.post('/chat/completions', body),
        ]
        outcomes.add(ours.status)
        t.equal(theirs.status, ours.status, `${subject}, with a key for ${key}`)
        if (ours.status === 200)
          t.equal(theirs.body.choices[0].message.content, ours.body.message.content, `${subject}: ${key}`)
        else {
          const { details, ...error } = ours.body.error
          t.match(theirs.body.error, { ...error, param: details.field ?? null }, `${subject}: ${key}`)
        }
      }
    }
    t.strictSame([...outcomes].sort(), [200, 400, 403, 404])
  })
}
