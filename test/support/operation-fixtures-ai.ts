// The operation fixtures of the AI tags. Without a configured provider, `extractive-1` answers every chat.
import { randomBytes, randomInt } from 'node:crypto'
import type { OperationId } from '../../generated/operations.ts'
import type { Fixture, Make, Scene } from './operation-fixture.ts'
import type { Attachment } from './contract-form.ts'
import {
  insertedDocument,
  insertedKnowledgeBase,
  insertedMessage,
  insertedProject,
  insertedSession,
  newText,
  projectFor,
  type Where,
} from './db-fixtures.ts'

const fresh = () => randomBytes(6).toString('hex')
const unknownId = '01jd6y8m5qe8btc4y5w1r0n3fz'
const metadata = { ticket: 'OPS-12' }

/**
 * A knowledge base with a document that is ready. The caller owns it, so that the tests show that the role in
 * the project counts even for an owner.
 */
async function insertKnowledgeBaseFor(
  { server, caller }: Scene,
  projectId: string | undefined,
): Promise<string> {
  const id = await insertedKnowledgeBase(server, caller.id, { projectId })
  await insertedDocument(server, id)
  return id
}

const onKnowledge =
  (body?: () => Record<string, unknown>, where: Where = 'active'): Make =>
  async (scene) => {
    const project = await projectFor(scene, where)
    return { params: { id: await insertKnowledgeBaseFor(scene, project) }, project, body: body?.() }
  }

const onDocument =
  (
    body?: () => Record<string, unknown>,
    where: Where = 'active',
    status: 'queued' | 'ready' = 'ready',
  ): Make =>
  async (scene) => {
    const { params, project } = await onKnowledge(undefined, where)(scene)
    return {
      params: { ...params, document_id: await insertedDocument(scene.server, params!.id, { status }) },
      project,
      body: body?.(),
    }
  }

const onSession =
  (where: Where = 'active', body?: (knowledgeBaseId: string) => Record<string, unknown>): Make =>
  async (scene) => {
    const projectId = await projectFor(scene, where)
    const knowledge = await insertKnowledgeBaseFor(scene, projectId)
    return {
      params: { id: await insertedSession(scene.server, scene.caller.id, { projectId }) },
      project: projectId,
      body: body?.(knowledge),
    }
  }

/** In a session with a question and its answer: the message with this role. */
const onMessage =
  (
    role: 'user' | 'assistant',
    {
      where = 'active',
      status,
      body,
    }: { where?: Where; status?: 'in_progress' | 'completed'; body?: () => Record<string, unknown> } = {},
  ): Make =>
  async (scene) => {
    const { params: session, project } = await onSession(where)(scene)
    const add = (role: 'user' | 'assistant') =>
      insertedMessage(scene.server, session!.id, scene.caller.id, {
        role,
        status: role === 'user' ? 'completed' : status,
      })
    const messages = { user: await add('user'), assistant: await add('assistant') }
    return { params: { id: messages[role] }, project, body: body?.() }
  }

const onProject =
  (body: () => Record<string, unknown>, where: 'active' | 'archived' = 'active'): Make =>
  async (scene) => {
    const project = await insertedProject(scene, where)
    return { project, body: { ...body(), project_id: project } }
  }
const inNoProject =
  (body: () => Record<string, unknown>): Make =>
  () => ({ body: { ...body(), project_id: `prj_${unknownId}` } })

const ofProject =
  (insert: (scene: Scene, projectId?: string) => Promise<unknown>): Make =>
  async (scene) => {
    const project = await insertedProject(scene)
    await insert(scene)
    await insert(scene, project)
    return { query: { project_id: project }, project }
  }
const ofNoProject: Make = () => ({ query: { project_id: `prj_${unknownId}` } })
const ownOnly =
  (insert: (scene: Scene) => Promise<unknown>): Make =>
  async (scene) => {
    await insert(scene)
    return {}
  }

const addSession = ({ server, caller }: Scene, projectId?: string) =>
  insertedSession(server, caller.id, { projectId })
const addKnowledge = ({ server, caller }: Scene, projectId?: string) =>
  insertedKnowledgeBase(server, caller.id, { projectId })

const options = () => ({ temperature: 0.2, max_tokens: randomInt(100, 1_000_000), stop: ['END'] })
const chatFields = () => ({
  message: `How long are events kept? ${fresh()}`,
  model: 'extractive-1',
  metadata,
  ...options(),
})

/** In a session with a title, so that the chat emits only the event of its answer. */
const onChat =
  (where: 'active' | 'archived' = 'active'): Make =>
  async (scene) => {
    const { params, project, body } = await onSession(where, (id) => ({ knowledge_base_ids: [id] }))(scene)
    return { project, body: { ...chatFields(), ...body, session_id: params!.id } }
  }
const chat: Fixture = {
  make: onChat(),
  own: () => ({ body: chatFields() }),
  others: {
    404: () => ({ body: { ...chatFields(), session_id: `cs_${unknownId}` } }),
    409: onChat('archived'),
  },
}

const sessionFields = () => ({
  title: `Questions ${fresh()}`,
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
const messageFields = () => ({ content: `And how long are deliveries kept? ${fresh()}`, metadata })
const knowledgeFields = () => ({
  name: `Handbook ${fresh()}`,
  description: 'All of it',
  chunking: { max_tokens: 200, overlap_tokens: 20 },
  metadata,
})
const documentFields = () => ({ name: `events ${fresh()}.md`, text: newText(), metadata })
const upload = () => {
  const { text, ...fields } = documentFields()
  return {
    ...fields,
    file: { filename: 'events.md', type: 'text/markdown', bytes: Buffer.from(text) } satisfies Attachment,
  }
}
const search = () => ({ query: `How long are events kept? ${fresh()}`, limit: 5, filters: {} })

const existingDocument: Make = async (scene) => {
  const { params, project } = await onKnowledge()(scene)
  const body = documentFields()
  await insertedDocument(scene.server, params!.id, { text: body.text })
  return { params, project, body }
}

export const aiFixtures = {
  listModels: { make: () => ({}) },
  getAiUsage: { make: () => ({}) },
  createChat: chat,
  streamChat: chat,
  listSessions: { make: ofProject(addSession), own: ownOnly(addSession), others: { 404: ofNoProject } },
  createSession: {
    make: onProject(sessionFields),
    own: () => ({ body: sessionFields() }),
    others: { 404: inNoProject(sessionFields), 409: onProject(sessionFields, 'archived') },
  },
  getSession: { make: onSession(), own: onSession('own') },
  updateSession: {
    make: onSession('active', sessionChange),
    own: onSession('own', sessionChange),
    others: { 409: onSession('archived', sessionChange) },
  },
  deleteSession: { make: onSession(), own: onSession('own'), others: { 409: onSession('archived') } },
  listSessionMessages: {
    make: async (scene) => {
      const { params, project } = await onSession()(scene)
      await insertedMessage(scene.server, params!.id, scene.caller.id, { role: 'user' })
      return { params, project }
    },
    own: onSession('own'),
  },
  getMessage: { make: onMessage('assistant'), own: onMessage('assistant', { where: 'own' }) },
  updateMessage: {
    make: onMessage('user', { body: messageFields }),
    own: onMessage('user', { where: 'own', body: messageFields }),
    others: { 409: onMessage('user', { where: 'archived', body: messageFields }) },
  },
  cancelMessage: {
    make: onMessage('assistant', { status: 'in_progress' }),
    own: onMessage('assistant', { where: 'own', status: 'in_progress' }),
    others: { 409: onMessage('assistant') },
  },
  regenerateMessage: {
    make: onMessage('user', { body: options }),
    own: onMessage('user', { where: 'own', body: options }),
    others: { 409: onMessage('user', { where: 'archived', body: options }) },
  },
  streamMessage: {
    make: onMessage('assistant'),
    own: onMessage('assistant', { where: 'own' }),
    others: { 409: onMessage('user') },
  },
  listKnowledgeBases: {
    make: ofProject(addKnowledge),
    own: ownOnly(addKnowledge),
    others: { 404: ofNoProject },
  },
  createKnowledgeBase: {
    make: onProject(knowledgeFields),
    own: () => ({ body: knowledgeFields() }),
    others: { 404: inNoProject(knowledgeFields), 409: onProject(knowledgeFields, 'archived') },
  },
  getKnowledgeBase: { make: onKnowledge(), own: onKnowledge(undefined, 'own') },
  updateKnowledgeBase: {
    make: onKnowledge(knowledgeFields),
    own: onKnowledge(knowledgeFields, 'own'),
    others: { 409: onKnowledge(knowledgeFields, 'archived') },
  },
  deleteKnowledgeBase: {
    make: onKnowledge(),
    own: onKnowledge(undefined, 'own'),
    others: { 409: onKnowledge(undefined, 'archived') },
  },
  searchKnowledgeBase: { make: onKnowledge(search), own: onKnowledge(search, 'own') },
  listDocuments: { make: onKnowledge(), own: onKnowledge(undefined, 'own') },
  createDocument: {
    make: onKnowledge(documentFields),
    form: onKnowledge(upload),
    own: onKnowledge(documentFields, 'own'),
    success: 201,
    others: { 200: existingDocument, 409: onKnowledge(documentFields, 'archived') },
  },
  getDocument: { make: onDocument(), own: onDocument(undefined, 'own') },
  updateDocument: {
    make: onDocument(documentFields),
    own: onDocument(documentFields, 'own'),
    others: { 409: onDocument(documentFields, 'archived') },
  },
  deleteDocument: {
    make: onDocument(),
    own: onDocument(undefined, 'own'),
    others: { 409: onDocument(undefined, 'archived') },
  },
  getDocumentText: {
    make: onDocument(),
    own: onDocument(undefined, 'own'),
    others: { 409: onDocument(undefined, 'active', 'queued') },
  },
  retryDocument: {
    make: onDocument(),
    own: onDocument(undefined, 'own'),
    others: { 409: onDocument(undefined, 'active', 'queued') },
  },
} satisfies Partial<Record<OperationId, Fixture>>
