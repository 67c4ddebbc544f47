// The handlers of the tag `ai`.
import type { Handlers } from '../generated/operations.ts'

export const ai = {
  // GET /v1/ai/models answers 200.
  async listModels (request, services) {
  },
  // GET /v1/ai/usage answers 200.
  async getAiUsage (request, services) {
  },
  // POST /v1/ai/chat answers 200.
  async createChat (request, services) {
  },
  // POST /v1/ai/chat/stream answers 200.
  async streamChat (request, services) {
  }
} satisfies Handlers<'ai'>
