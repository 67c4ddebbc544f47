import type { components } from '../../../generated/types.ts'

export type SourceErrorCode = NonNullable<components['schemas']['KnowledgeSource']['error']>['code']

/** Why a source or one of its pages could not be read. The message is for its users. */
export class SourceError extends Error {
  code: SourceErrorCode
  /** Whether the server says that there is no such page. */
  isGone = false

  constructor(code: SourceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
