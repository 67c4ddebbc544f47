// The results as a table.
import { table } from '../bench/table.ts'
import type { Plan, Result } from './run.ts'

export function report(results: Result[], { rounds, ms }: Plan): string {
  return [
    `Milliseconds until the victim has its answer, without and with the attack: the median of ${rounds}`,
    `rounds of ${ms / 1_000} s. Stolen: the part of one CPU that the host took from this machine. CPU:`,
    "milliseconds of the server's main thread for one attacking request.",
    '',
    table(
      [
        'attack',
        'at once',
        'p50',
        'attacked',
        'p99',
        'attacked',
        'ratio',
        'stolen',
        'CPU',
        'MB',
        'attacker got',
      ],
      results.map(({ attack, quiet, attacked, ratio, stolen, cpuMs, memory, answers, meanwhile }) => [
        attack.name,
        String(attack.atOnce),
        quiet.p50.toFixed(1),
        attacked.p50.toFixed(1),
        quiet.p99.toFixed(1),
        attacked.p99.toFixed(1),
        ratio.toFixed(1),
        `${Math.round(stolen * 100)} %`,
        cpuMs.toFixed(2),
        Math.round(memory).toString(),
        gotOf(answers) + (meanwhile === null ? '' : `; ${attack.meanwhile!.name}: ${meanwhile.toFixed(1)} s`),
      ]),
    ),
  ].join('\n')
}

function gotOf(answers: Record<string, number>): string {
  return Object.entries(answers)
    .sort(([, a], [, b]) => b - a)
    .map(([label, count]) => `${count} × ${label}`)
    .join(', ')
}
