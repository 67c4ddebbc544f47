// What a page shows while it loads.

export function Skeleton({ rows = 5 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} />
      ))}
    </div>
  )
}
