// The handlers of the tag `ai-sessions`.
import type { Handlers } from '../generated/operations.ts'

export const aiSessions = {
  // GET /v1/ai/sessions answers 200.
  async listSessions (request, services) {
  },
  // POST /v1/ai/sessions answers 201.
  async createSession (request, services) {
  },
  // GET /v1/ai/sessions/{id} answers 200.
  async getSession (request, services) {
  },
  // PUT /v1/ai/sessions/{id} answers 200.
  async updateSession (request, services) {
  },
  // DELETE /v1/ai/sessions/{id} answers 204.
  async deleteSession (request, services) {
  },
  // GET /v1/ai/sessions/{id}/messages answers 200.
  async listSessionMessages (request, services) {
  }
} satisfies Handlers<'ai-sessions'>
