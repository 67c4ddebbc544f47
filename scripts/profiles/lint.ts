// This project's profile of lint: the rules of scripts/generate/rules, as `npm run generate` applies them.
import { dirname, relative, resolve } from 'node:path'
import type { LintProfile } from '@platform-api/lint/lint.ts'
import { ContractError, readContract, requireAllUsed } from '../generate/contract.ts'

export const profile: LintProfile = {
  async lint(file) {
    const root = resolve(file)
    try {
      await readContract(root)
      await requireAllUsed(root)
      return []
    } catch (error) {
      if (!(error instanceof ContractError)) throw error
      const above = resolve(dirname(root), '..')
      return error.problems.map(({ excerpt: _excerpt, ...problem }) => ({
        ...problem,
        file: relative(process.cwd(), resolve(above, problem.file)),
        severity: 'error',
      }))
    }
  },
}
