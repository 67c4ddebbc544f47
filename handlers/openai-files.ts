// What OpenAI's clients call: files, and searches of knowledge bases.
import { expiryOf } from '../infra/contract/expiry.ts'
import { invalidField } from '../infra/errors.ts'
import { searchWithinLimit } from '../services/ai/search/search-within-limit.ts'
import type { Handlers } from '../services/handler.ts'
import { filtersOf, mergePassages, queriesOf, toSearchResult } from '../services/ai/openai/vector-stores.ts'
import { openKnowledgeBase } from '../services/ai/knowledge/knowledge-bases.ts'
import { openWorkspaces } from '../services/projects/workspaces.ts'
import { createFile } from '../services/storage/create-file.ts'
import { deleteFile } from '../services/storage/delete-file.ts'
import { toDownload } from '../services/storage/download.ts'
import { openFile, toFile } from '../services/storage/files.ts'
import { defaultPurpose, listOpenAiFiles, toOpenAiFile } from '../services/storage/openai-files.ts'

export const openaiFiles = {
  async listOpenAiFiles(request, { db, lists }) {
    const workspaces = await openWorkspaces(db, request)
    return { status: 200, body: await listOpenAiFiles(lists, workspaces, request.query) }
  },

  async createOpenAiFile(request, services) {
    const form = request.body
    const upload = {
      file: form.file,
      maxBytes: services.config.uploadMaxBytes,
      projectId: form.received.project_id,
      fields() {
        const {
          name,
          purpose = defaultPurpose,
          project_id: projectId = null,
          'expires_after[anchor]': anchor,
          'expires_after[seconds]': seconds,
        } = form.fields()
        if ((anchor === undefined) !== (seconds === undefined))
          throw invalidField(
            anchor === undefined ? 'expires_after[anchor]' : 'expires_after[seconds]',
            'required',
            'expires_after requires its anchor and its seconds',
          )
        return {
          name: name!,
          projectId,
          metadata: { purpose },
          expiresAt: expiryOf({ expires_in_seconds: seconds }),
        }
      },
    }
    return await createFile(services, request, upload, async (_tx, file) => {
      return { status: 201, body: toOpenAiFile(file), headers: { location: `/v1/files/${file.id}` } }
    })
  },

  async getOpenAiFile(request, { db }) {
    return { status: 200, body: toOpenAiFile(await openFile(db, request)) }
  },

  async deleteOpenAiFile(request, { db, storage, events }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      request.ifMatch(toOpenAiFile(file))
      await deleteFile(tx, { storage, events }, toFile(file))
      return { status: 200, body: { id: file.id, object: 'file', deleted: true } }
    })
  },

  async getOpenAiFileContent(request, { db, storage }) {
    const file = await openFile(db, request)
    const onStart = (): void => storage.countDownload(file.id)
    const options = { disposition: 'attachment' as const, onStart }
    return { status: 200, body: toDownload(db, await storage.blobStore(), file, options) }
  },

  async searchVectorStore(request, services) {
    const { id, project_id: projectId } = await openKnowledgeBase(services.db, request)
    const { body } = request
    const queries = queriesOf(body)
    const filters = filtersOf(body)
    const limit = body.max_num_results ?? 10
    const search = { knowledgeBaseIds: [id], projectId, limit, filters }
    const found = await searchWithinLimit(services, request, queries, search)
    const { score_threshold: threshold = 0 } = body.ranking_options ?? {}
    const passages = mergePassages(found, limit)
    return {
      status: 200,
      body: {
        object: 'vector_store.search_results.page',
        search_query: queries,
        data: passages.filter(({ score }) => score >= threshold).map(toSearchResult),
        has_more: false,
        next_page: null,
      },
    }
  },
} satisfies Handlers<'openai-files'>
