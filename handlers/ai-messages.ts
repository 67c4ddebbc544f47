// The handlers of the tag `ai-messages`.
import type { Handlers } from '../generated/operations.ts'

export const aiMessages = {
  // GET /v1/ai/messages/{id} answers 200.
  async getMessage (request, services) {
  },
  // PUT /v1/ai/messages/{id} answers 200.
  async updateMessage (request, services) {
  },
  // POST /v1/ai/messages/{id}/cancel answers 200.
  async cancelMessage (request, services) {
  },
  // POST /v1/ai/messages/{id}/regenerate answers 200.
  async regenerateMessage (request, services) {
  },
  // GET /v1/ai/messages/{id}/stream answers 200.
  async streamMessage (request, services) {
  }
} satisfies Handlers<'ai-messages'>
