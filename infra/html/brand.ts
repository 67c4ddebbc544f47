// The name, color and logo of the installation (BRAND_NAME, BRAND_COLOR, BRAND_LOGO), for pages, e-mails and
// receipts. They are set once, when the process has read its settings.
import type { Logo } from '../config/logo.ts'

export interface Brand {
  /** BRAND_NAME; null for the name of the software. */
  name: string | null
  /** The accent of each color scheme. */
  light: string
  dark: string
  /** Replaces colors of tokens.css; empty for these. */
  css: string
  /** BRAND_LOGO. */
  logo: Logo | null
  /** The logo, or an icon in the color, as a URL that needs no request. */
  iconUrl: string
  icon: Logo
}

interface Settings {
  brandName: string | null
  brandColor: string | null
  brandLogo: Logo | null
}

/** The least contrast of text, by WCAG 2 AA. */
const minContrast = 4.5
/** What the accent stands on as the color of a text, besides its own light shade. */
const grounds = { light: '#f7f8fa', dark: '#20252d' }
const defaults = { light: '#1d4ed8', dark: '#8ab4ff' }

export const defaultName = 'Platform API'

/** @returns colors whose texts can be read in both color schemes, as close to the given one as possible. */
export function brandOf({ brandName: name, brandColor, brandLogo: logo }: Settings): Brand {
  const light = brandColor === null ? defaults.light : readable(brandColor, grounds.light, '#000000')
  const dark = brandColor === null ? defaults.dark : readable(brandColor, grounds.dark, '#ffffff')
  const icon = logo ?? { type: 'image/svg+xml', bytes: Buffer.from(iconIn(light)) }
  return {
    name,
    light,
    dark,
    css: brandColor === null ? '' : cssOf(light, dark),
    logo,
    icon,
    iconUrl: `data:${icon.type};base64,${icon.bytes.toString('base64')}`,
  }
}

const iconIn = (color: string): string =>
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">' +
  `<rect width="16" height="16" rx="4" fill="${color}"/>` +
  `<path d="M3 5.5h10v6H3zM3 7.5h10" fill="none" stroke="${onto(color)}" stroke-width="1.3"/></svg>`

function cssOf(light: string, dark: string): string {
  const pairs = {
    accent: [light, dark],
    'accent-over': [over(light), over(dark)],
    'on-accent': [onto(light), onto(dark)],
    chosen: [shade(light, grounds.light), shade(dark, grounds.dark)],
  }
  const rules = Object.entries(pairs).map(([name, [a, b]]) => `--${name}:light-dark(${a},${b});`)
  return `:root{${rules.join('')}}`
}

/** The color itself, or the first one on the way to `end` that can be read on the ground and on its shade. */
function readable(color: string, ground: string, end: string): string {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, end, share)
    const found = [ground, shade(mixed, ground)].map((each) => contrast(mixed, each))
    if (Math.min(...found) >= minContrast) return mixed
  }
  return end
}

/** Black or white: the one with the higher contrast. */
const onto = (color: string): string =>
  contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000'

/** Of a button under the pointer: away from the color of its text. */
const over = (color: string): string => mix(color, onto(color) === '#ffffff' ? '#000000' : '#ffffff', 0.15)

/** The ground of a chosen item. */
const shade = (color: string, ground: string): string => mix(ground, color, 0.1)

const channels = (color: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))

function mix(one: string, other: string, share: number): string {
  const mixed = channels(one).map((value, i) => Math.round(value + (channels(other)[i] - value) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function luminance(color: string): number {
  const [r, g, b] = channels(color).map((value) => {
    const part = value / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** The contrast of two colors by WCAG 2, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

let current = brandOf({ brandName: null, brandColor: null, brandLogo: null })

export const brand = (): Brand => current

export function setBrand(settings: Settings): void {
  current = brandOf(settings)
}
