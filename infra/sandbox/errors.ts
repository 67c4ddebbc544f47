// Why a sandboxed process gave no answer.

export type SandboxErrorCode = 'damaged' | 'too_large' | 'too_slow' | 'too_much_memory'

/** The document cannot be processed: another attempt with the same bytes fails again. */
export class SandboxError extends Error {
  code: SandboxErrorCode

  constructor(code: SandboxErrorCode) {
    super(`the sandboxed process ended: ${code}`)
    this.name = 'SandboxError'
    this.code = code
  }
}
