// Keys that work on every page.
/** j begins at the first row, and / at the search, wherever nothing else takes the key. */
export function followListKeys(): void {
  addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement
    const isTyped = target.closest('input, textarea, select, dialog, [popover]') !== null
    if (isTyped || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    const to = { j: '.rows tbody .lead a', '/': 'main [type=search]' }[event.key]
    const found = to === undefined ? null : document.querySelector<HTMLElement>(to)
    if (found === null) return
    event.preventDefault()
    found.focus()
  })
}
