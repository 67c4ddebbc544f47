// The icons of the shell and of lists. Those of areas are named by `x-console` of the groups of tags.
const paths: Record<string, string> = {
  home: 'M4 11l8-7 8 7v9h-5.5v-5.5h-5V20H4z',
  folder:
    'M3 6.5C3 5.7 3.7 5 4.5 5h4l2 2.5h9c.8 0 1.5.7 1.5 1.5v9c0 .8-.7 1.5-1.5 1.5h-15c-.8 0-1.5-.7-1.5-1.5z',
  chat: 'M4 5h16v11H11l-4 4v-4H4zM8 9h8M8 12h5',
  card: 'M3 6h18v12H3zM3 10h18M6.5 14.5h4',
  bolt: 'M13 3L5 13.5h6L10 21l8-10.5h-6z',
  people: 'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3.5 19a5.5 5.5 0 0 1 11 0M16 5.5a3 3 0 0 1 0 5.5M17 14l3.5 5',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  shield: 'M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6z',
  other: 'M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20',
  switch: 'M8 9.5l4-4 4 4M8 14.5l4 4 4-4',
  copy: 'M8 8V4h12v12h-4M4 8h12v12H4z',
  check: 'M5 12.5l4.5 4.5L19 7',
  filter: 'M4 6h16M7 12h10M10 18h4',
  close: 'M6 6l12 12M18 6L6 18',
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name] ?? paths.other} />
    </svg>
  )
}
