// The handlers of the tag `ai-documents`.
import type { Handlers } from '../generated/operations.ts'

export const aiDocuments = {
  // GET /v1/ai/knowledge/{id}/documents answers 200.
  async listDocuments (request, services) {
  },
  // POST /v1/ai/knowledge/{id}/documents answers 200 or 201.
  async createDocument (request, services) {
  },
  // GET /v1/ai/knowledge/{id}/documents/{document_id} answers 200.
  async getDocument (request, services) {
  },
  // PUT /v1/ai/knowledge/{id}/documents/{document_id} answers 200.
  async updateDocument (request, services) {
  },
  // DELETE /v1/ai/knowledge/{id}/documents/{document_id} answers 204.
  async deleteDocument (request, services) {
  },
  // GET /v1/ai/knowledge/{id}/documents/{document_id}/text answers 200.
  async getDocumentText (request, services) {
  },
  // POST /v1/ai/knowledge/{id}/documents/{document_id}/retry answers 200.
  async retryDocument (request, services) {
  }
} satisfies Handlers<'ai-documents'>
