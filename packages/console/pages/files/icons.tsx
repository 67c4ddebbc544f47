// The few icons of the files page.
const paths = {
  folder:
    'M3 6.5C3 5.7 3.7 5 4.5 5h4l2 2.5h9c.8 0 1.5.7 1.5 1.5v9c0 .8-.7 1.5-1.5 1.5h-15c-.8 0-1.5-.7-1.5-1.5z',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  image: 'M4 5h16v14H4zM4 16l4.5-5 4 4.5 3-3 4.5 5M15.5 9.5h.01',
  text: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  media: 'M4 5h16v14H4zM10 9l5 3-5 3z',
  shared: 'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3.5 19a5.5 5.5 0 0 1 11 0M16 5.5a3 3 0 0 1 0 5.5M17 14l3.5 5',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13',
  home: 'M4 11l8-7 8 7v9h-5.5v-5.5h-5V20H4z',
  list: 'M4 7h16M4 12h16M4 17h16',
  grid: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.5h.01',
  close: 'M6 6l12 12M18 6L6 18',
  chevron: 'M9 6l6 6-6 6',
  menu: 'M4 5h16v14H4zM9 5v14',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon i-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}

export function iconOf(kind: 'folder' | 'file', type: string): IconName {
  if (kind === 'folder') return 'folder'
  if (type.startsWith('image/')) return 'image'
  if (/^(audio|video)\//.test(type)) return 'media'
  return /^text\/|pdf|json|xml|word|document/.test(type) ? 'text' : 'file'
}
