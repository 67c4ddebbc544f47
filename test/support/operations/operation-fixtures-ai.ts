// Requests for the operations of the AI area. Without a configured provider, `extractive-1` answers.
import { randomBytes, randomInt } from 'node:crypto'
import type { OperationId } from '../../../generated/operations.ts'
import type { Fixture, RequestBuilder, FixtureContext } from './operation-fixture.ts'
import type { Attachment } from '../http/form-body.ts'
import type { TestServer } from '../server/server.ts'
import {
  createApiKey,
  createBudget,
  createDocument,
  createSource,
  createKnowledgeBase,
  createMessage,
  createProject,
  createSession,
  randomText,
  projectFor,
  type Placement,
} from '../database/db-fixtures.ts'
import { ofNoProject, ofProject, ownAlone, unknownUlid } from './project-filter.ts'

const randomHex = () => randomBytes(6).toString('hex')
const metadata = { ticket: 'OPS-12' }

/** The caller's own, so that a project's role decides even then; it has a document that is ready. */
async function knowledgeFor(
  { server, caller }: FixtureContext,
  projectId: string | undefined,
): Promise<string> {
  const id = await createKnowledgeBase(server, caller.id, { projectId })
  await createDocument(server, id)
  return id
}

const onKnowledge =
  (body?: () => Record<string, unknown>, where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const project = await projectFor(context, where)
    return { params: { id: await knowledgeFor(context, project) }, project, body: body?.() }
  }

const newBudget = () => ({
  unit: 'money',
  amount: '25.5',
  period: 'month',
  starts_at: '2026-01-01T00:00:00.000Z',
  thresholds: [50, 100],
  enforced: true,
  metadata,
})
const onBudget =
  (body?: () => Record<string, unknown>): RequestBuilder =>
  async ({ server, caller }) => ({ params: { id: await createBudget(server, caller.id) }, body: body?.() })

const onDocument =
  (
    body?: () => Record<string, unknown>,
    where: Placement = 'active',
    status: 'queued' | 'ready' = 'ready',
  ): RequestBuilder =>
  async (context) => {
    const { params, project } = await onKnowledge(undefined, where)(context)
    return {
      params: { ...params, document_id: await createDocument(context.server, params!.id, { status }) },
      project,
      body: body?.(),
    }
  }

const onSource =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const { params, project } = await onKnowledge(undefined, where)(context)
    return {
      params: { ...params, source_id: await createSource(context.server, params!.id, context.caller.id) },
      project,
    }
  }

const onDocumentAlone =
  (where?: Placement): RequestBuilder =>
  async (context) => {
    const { params, project } = await onDocument(undefined, where)(context)
    return { params: { id: params!.document_id }, project }
  }

const onSession =
  (
    where: Placement = 'active',
    body?: (knowledgeBaseId: string) => Record<string, unknown>,
  ): RequestBuilder =>
  async (context) => {
    const projectId = await projectFor(context, where)
    const knowledge = await knowledgeFor(context, projectId)
    return {
      params: { id: await createSession(context.server, context.caller.id, { projectId }) },
      project: projectId,
      body: body?.(knowledge),
    }
  }

/** The first of two messages, a question, or the second, its answer. */
const onMessage =
  (
    role: 'user' | 'assistant',
    {
      where = 'active',
      status,
      body,
    }: { where?: Placement; status?: 'in_progress' | 'completed'; body?: () => Record<string, unknown> } = {},
  ): RequestBuilder =>
  async (context) => {
    const { params: session, project } = await onSession(where)(context)
    const add = (role: 'user' | 'assistant') =>
      createMessage(context.server, session!.id, context.caller.id, {
        role,
        status: role === 'user' ? 'completed' : status,
      })
    const messages = { user: await add('user'), assistant: await add('assistant') }
    return { params: { id: messages[role] }, project, body: body?.() }
  }

/** An answer that calls a tool. */
const onCalls =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const { params: session, project } = await onSession(where)(context)
    await createMessage(context.server, session!.id, context.caller.id, { role: 'user' })
    const toolCalls = [{ id: 'call_1', name: 'get_weather', arguments: '{}', result: null }]
    const id = await createMessage(context.server, session!.id, context.caller.id, { toolCalls })
    const results = [{ tool_call_id: 'call_1', content: `Rain ${randomHex()}` }]
    return { params: { id }, project, body: { results, ...options() } }
  }

const onProject =
  (body: () => Record<string, unknown>, where: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, where)
    return { project, body: { ...body(), project_id: project } }
  }
const inNoProject =
  (body: () => Record<string, unknown>): RequestBuilder =>
  () => ({ body: { ...body(), project_id: `prj_${unknownUlid}` } })

const addSession = ({ server, caller }: FixtureContext, projectId?: string) =>
  createSession(server, caller.id, { projectId })
const addKnowledge = ({ server, caller }: FixtureContext, projectId?: string) =>
  createKnowledgeBase(server, caller.id, { projectId })

const options = () => ({ temperature: 0.2, max_tokens: randomInt(100, 1_000_000), stop: ['END'] })
const chatFields = () => ({
  message: `How long are events kept? ${randomHex()}`,
  model: 'extractive-1',
  metadata,
  ...options(),
})

const completionFields = () => ({
  model: 'extractive-1',
  messages: [
    { role: 'developer', content: 'Be brief.', name: 'ada' },
    { role: 'user', content: [{ type: 'text', text: `How long are events kept? ${randomHex()}` }] },
  ],
  max_completion_tokens: randomInt(100, 1_000_000),
  stop: 'END',
})

/** In a session with a title, so that only the answer emits an event. */
const onChat =
  (where: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const { params, project, body } = await onSession(where, (id) => ({ knowledge_base_ids: [id] }))(context)
    return { project, body: { ...chatFields(), ...body, session_id: params!.id } }
  }
const chat: Fixture = {
  build: onChat(),
  withoutProject: () => ({ body: chatFields() }),
  byStatus: {
    404: () => ({ body: { ...chatFields(), session_id: `cs_${unknownUlid}` } }),
    409: onChat('archived'),
  },
}

const responseFields = () => ({ model: 'extractive-1', input: `How long are events kept? ${randomHex()}` })

const sessionFields = () => ({
  title: `Questions ${randomHex()}`,
  model: 'extractive-1',
  system_prompt: 'Be brief.',
  knowledge_base_ids: [],
  metadata,
})
const sessionChange = (knowledgeBaseId: string) => ({
  ...sessionFields(),
  knowledge_base_ids: [knowledgeBaseId],
  status: 'archived',
})
const messageFields = () => ({ content: `And how long are deliveries kept? ${randomHex()}`, metadata })
const knowledgeFields = () => ({
  name: `Handbook ${randomHex()}`,
  description: 'All of it',
  chunking: { max_tokens: 200, overlap_tokens: 20 },
  metadata,
})
const documentFields = () => ({ name: `events ${randomHex()}.md`, text: randomText(), metadata })
const upload = () => {
  const { text, ...fields } = documentFields()
  return {
    ...fields,
    file: { filename: 'events.md', type: 'text/markdown', bytes: Buffer.from(text) } satisfies Attachment,
  }
}
const search = () => ({ query: `How long are events kept? ${randomHex()}`, limit: 5, filters: {} })

const searchOfBases =
  (where?: 'own'): RequestBuilder =>
  async (context) => {
    const { params, project } = await onKnowledge(undefined, where)(context)
    return { project, body: { ...search(), knowledge_base_ids: [params!.id] } }
  }

const vectorStoreSearch = () => ({
  query: `How long are events kept? ${randomHex()}`,
  max_num_results: 5,
  filters: { type: 'eq', key: 'team', value: 'support' },
  ranking_options: { ranker: 'auto', score_threshold: 0 },
  rewrite_query: false,
})

const sourceFields = () => ({ type: 'page', url: `https://example.com/${randomHex()}` })
const documentBatch = () => ({ documents: [documentFields()] })

const added: RequestBuilder = async (context) => {
  const { params, project } = await onKnowledge()(context)
  const body = documentFields()
  await createDocument(context.server, params!.id, { text: body.text })
  return { params, project, body }
}

/** Gives a server without a provider an embedding model, until a request of `withoutEmbeddings`. */
export function provideEmbeddings({ services: { providers } }: TestServer): void {
  const embed = async (texts: string[]): Promise<number[][]> => texts.map(() => [0.6, 0.8])
  providers.embed = Object.assign(embed, {
    model: 'embedder',
    dimensions: 2,
    provider: 'test',
    price: null,
  })
}

const withoutEmbeddings =
  (build: RequestBuilder): RequestBuilder =>
  async (context) => {
    context.server.services.providers.embed = null
    return await build(context)
  }

export const aiFixtures = {
  listModels: { build: () => ({}) },
  listOpenAiModels: { build: () => ({}) },
  getOpenAiModel: {
    build: () => ({ params: { model: 'extractive-1' } }),
    byStatus: { 404: () => ({ params: { model: 'unknown' } }) },
  },
  createEmbeddings: {
    build: ({ server }) => {
      provideEmbeddings(server)
      return { body: { model: 'embedder', input: [`How long? ${randomHex()}`] } }
    },
  },
  createResponse: {
    build: onProject(responseFields),
    withoutProject: () => ({ body: responseFields() }),
    byStatus: { 404: inNoProject(responseFields) },
  },
  createChatCompletion: {
    build: onProject(completionFields),
    withoutProject: () => ({ body: completionFields() }),
    byStatus: { 404: inNoProject(completionFields) },
  },
  getAiUsage: { build: () => ({}) },
  createChat: chat,
  streamChat: chat,
  listSessions: {
    build: ofProject(addSession),
    withoutProject: ownAlone(addSession),
    byStatus: { 404: ofNoProject },
  },
  createSession: {
    build: onProject(sessionFields),
    withoutProject: () => ({ body: sessionFields() }),
    byStatus: { 404: inNoProject(sessionFields), 409: onProject(sessionFields, 'archived') },
  },
  getSession: { build: onSession(), withoutProject: onSession('own') },
  updateSession: {
    build: onSession('active', sessionChange),
    withoutProject: onSession('own', sessionChange),
    byStatus: { 409: onSession('archived', sessionChange) },
  },
  deleteSession: {
    build: onSession(),
    withoutProject: onSession('own'),
    byStatus: { 409: onSession('archived') },
  },
  listSessionMessages: {
    build: async (context) => {
      const { params, project } = await onSession()(context)
      await createMessage(context.server, params!.id, context.caller.id, { role: 'user' })
      return { params, project }
    },
    withoutProject: onSession('own'),
  },
  getMessage: { build: onMessage('assistant'), withoutProject: onMessage('assistant', { where: 'own' }) },
  updateMessage: {
    build: onMessage('user', { body: messageFields }),
    withoutProject: onMessage('user', { where: 'own', body: messageFields }),
    byStatus: { 409: onMessage('user', { where: 'archived', body: messageFields }) },
  },
  cancelMessage: {
    build: onMessage('assistant', { status: 'in_progress' }),
    withoutProject: onMessage('assistant', { where: 'own', status: 'in_progress' }),
    byStatus: { 409: onMessage('assistant') },
  },
  regenerateMessage: {
    build: onMessage('user', { body: options }),
    withoutProject: onMessage('user', { where: 'own', body: options }),
    byStatus: { 409: onMessage('user', { where: 'archived', body: options }) },
  },
  sendToolResults: {
    build: onCalls(),
    withoutProject: onCalls('own'),
    byStatus: { 409: onCalls('archived') },
  },
  streamMessage: {
    build: onMessage('assistant'),
    withoutProject: onMessage('assistant', { where: 'own' }),
    byStatus: { 409: onMessage('user') },
  },
  listKnowledgeBases: {
    build: ofProject(addKnowledge),
    withoutProject: ownAlone(addKnowledge),
    byStatus: { 404: ofNoProject },
  },
  createKnowledgeBase: {
    build: onProject(knowledgeFields),
    withoutProject: () => ({ body: knowledgeFields() }),
    byStatus: { 404: inNoProject(knowledgeFields), 409: onProject(knowledgeFields, 'archived') },
  },
  getKnowledgeBase: { build: onKnowledge(), withoutProject: onKnowledge(undefined, 'own') },
  updateKnowledgeBase: {
    build: onKnowledge(knowledgeFields),
    withoutProject: onKnowledge(knowledgeFields, 'own'),
    byStatus: { 409: onKnowledge(knowledgeFields, 'archived') },
  },
  deleteKnowledgeBase: {
    build: onKnowledge(),
    withoutProject: onKnowledge(undefined, 'own'),
    byStatus: { 409: onKnowledge(undefined, 'archived') },
  },
  searchKnowledgeBases: {
    build: withoutEmbeddings(searchOfBases()),
    withoutProject: searchOfBases('own'),
    byStatus: {
      404: () => ({ body: { ...search(), knowledge_base_ids: ['kb_01jd6y8m5qe8btc4y5w1r0n3fz'] } }),
    },
  },
  searchVectorStore: {
    build: withoutEmbeddings(onKnowledge(vectorStoreSearch)),
    withoutProject: onKnowledge(vectorStoreSearch, 'own'),
  },
  searchKnowledgeBase: {
    build: withoutEmbeddings(onKnowledge(search)),
    withoutProject: onKnowledge(search, 'own'),
  },
  listDocuments: { build: onKnowledge(), withoutProject: onKnowledge(undefined, 'own') },
  createDocument: {
    build: onKnowledge(documentFields),
    form: onKnowledge(upload),
    withoutProject: onKnowledge(documentFields, 'own'),
    successStatus: 201,
    byStatus: { 200: added, 409: onKnowledge(documentFields, 'archived') },
  },
  createDocuments: {
    build: onKnowledge(documentBatch),
    withoutProject: onKnowledge(documentBatch, 'own'),
    byStatus: { 409: onKnowledge(documentBatch, 'archived') },
  },
  listSources: { build: onKnowledge(), withoutProject: onKnowledge(undefined, 'own') },
  createSource: {
    build: onKnowledge(sourceFields),
    withoutProject: onKnowledge(sourceFields, 'own'),
    successStatus: 201,
    byStatus: { 409: onKnowledge(sourceFields, 'archived') },
  },
  getSource: { build: onSource(), withoutProject: onSource('own') },
  deleteSource: {
    build: onSource(),
    withoutProject: onSource('own'),
    byStatus: { 409: onSource('archived') },
  },
  syncSource: {
    build: onSource(),
    withoutProject: onSource('own'),
    byStatus: { 409: onSource('archived') },
  },
  getDocument: { build: onDocument(), withoutProject: onDocument(undefined, 'own') },
  getDocumentById: { build: onDocumentAlone(), withoutProject: onDocumentAlone('own') },
  updateDocument: {
    build: onDocument(documentFields),
    withoutProject: onDocument(documentFields, 'own'),
    byStatus: { 409: onDocument(documentFields, 'archived') },
  },
  deleteDocument: {
    build: onDocument(),
    withoutProject: onDocument(undefined, 'own'),
    byStatus: { 409: onDocument(undefined, 'archived') },
  },
  getDocumentText: {
    build: onDocument(),
    withoutProject: onDocument(undefined, 'own'),
    byStatus: { 409: onDocument(undefined, 'active', 'queued') },
  },
  retryDocument: {
    build: onDocument(),
    withoutProject: onDocument(undefined, 'own'),
    byStatus: { 409: onDocument(undefined, 'archived') },
  },
  listBudgets: {
    build: async ({ server, caller }) => {
      await createBudget(server, caller.id)
      return {}
    },
    byStatus: { 404: () => ({ query: { subject_id: `key_${unknownUlid}` } }) },
  },
  createBudget: {
    build: async ({ server, caller }) => ({
      body: { ...newBudget(), subject_id: (await createApiKey(server, caller.id)).id },
    }),
    byStatus: { 404: () => ({ body: { ...newBudget(), subject_id: `key_${unknownUlid}` } }) },
  },
  getBudget: { build: onBudget() },
  updateBudget: {
    build: onBudget(() => ({
      amount: `${randomInt(1, 1000)}.5`,
      thresholds: [25, 75],
      enforced: false,
      metadata,
    })),
  },
  deleteBudget: { build: onBudget() },
} satisfies Partial<Record<OperationId, Fixture>>
