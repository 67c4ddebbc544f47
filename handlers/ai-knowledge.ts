// The handlers of the tag `ai-knowledge`.
import type { Handlers } from '../generated/operations.ts'

export const aiKnowledge = {
  // GET /v1/ai/knowledge answers 200.
  async listKnowledgeBases (request, services) {
  },
  // POST /v1/ai/knowledge answers 201.
  async createKnowledgeBase (request, services) {
  },
  // GET /v1/ai/knowledge/{id} answers 200.
  async getKnowledgeBase (request, services) {
  },
  // PUT /v1/ai/knowledge/{id} answers 200.
  async updateKnowledgeBase (request, services) {
  },
  // DELETE /v1/ai/knowledge/{id} answers 204.
  async deleteKnowledgeBase (request, services) {
  },
  // POST /v1/ai/knowledge/{id}/search answers 200.
  async searchKnowledgeBase (request, services) {
  }
} satisfies Handlers<'ai-knowledge'>
