// The titles of fields and pages, for the generator and for the console.

/** `api-keys` and `created_at` become `API keys` and `Created at`. */
export function titleOf(name: string): string {
  if (name === 'q') return 'Search'
  const words = name
    .replaceAll(/[-_]/g, ' ')
    .replace(/\b(api|ai|id|url|ip)(s?)\b/g, (_, word: string, plural: string) => word.toUpperCase() + plural)
    .replace(/\bsha256\b/, 'SHA-256')
    .replace(/\betag\b/, 'ETag')
  return words[0].toUpperCase() + words.slice(1)
}
