// Keeps compiled modules for the next start. `node --import` loads this file before the first TypeScript
// file, and it is JavaScript itself: to read one TypeScript file that is not in the cache, Node.js would load
// its TypeScript compiler, which takes 16 MB of memory.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(process.env.NODE_COMPILE_CACHE ?? join(import.meta.dirname, '../node_modules/.cache/node'))
