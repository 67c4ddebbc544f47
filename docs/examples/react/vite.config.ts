import { defineConfig } from 'vite'

// The page and the API have one origin, so the cookie of the session needs nothing else. In production a
// reverse proxy does the same.
const proxy = { '/v1': process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:3000' }

export default defineConfig({ server: { proxy }, preview: { proxy } })
