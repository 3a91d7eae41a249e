#include "cli/completion.h"

namespace berth::cli {
namespace {

constexpr char kBash[] = R"sh(# bash completion for berth and kubectl-berth
_berth() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "status list why up controller version completion" -- "$cur"))
    return
  fi
  case "$command" in
    why)
      if [[ $cur != -* ]]; then
        COMPREPLY=($(compgen -W "$(kubectl get jobs -o name 2>/dev/null | sed 's/\.batch//')" -- "$cur"))
        return
      fi
      COMPREPLY=($(compgen -W "-n -A -o --kubeconfig --context --ascii --help" -- "$cur")) ;
;
    status)
      if [[ $cur != -* ]];
    then COMPREPLY =
        ($(compgen - W
           "$(kubectl get clusterqueues -o name 2>/dev/null | sed 's|.*/||')" --"$cur")) return fi
            COMPREPLY = ($(compgen - W
                           "-w --watch -n -A -o --kubeconfig --context --ascii --help" --"$cur"));
    ;
    list)
      COMPREPLY=($(compgen -W "--waiting --running --finished -l --sort -n -A -o --kubeconfig --context --ascii --help" -- "$cur")) ;
    ;
    up)
      COMPREPLY=($(compgen -W "--data-dir --kubeconfig --listen --image --reset --config --help" -- "$cur")) ;
    ;
    completion)
      COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")) ;
    ;
    esac
    }
complete -F _berth berth kubectl-berth
)sh";

constexpr char kZsh[] = R"sh(#compdef berth kubectl-berth
_berth() {
  local -a commands
  commands=(
    'status:queues, who waits and why'
    'list:one line a workload'
    'why:why a job waits'
    'up:a whole cluster in one process'
    'controller:the queue controllers against any Kubernetes'
    'version:versions of berth and of the cluster'
    'completion:completion script for a shell'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
  elif [[ $words[2] == why ]]; then
    compadd -- ${(f)"$(kubectl get jobs -o name 2>/dev/null | sed 's/\.batch//')"}
  elif [[ $words[2] == status ]];
then compadd-- ${(f) "$(kubectl get clusterqueues -o name 2>/dev/null | sed 's|.*/||')"} fi
}
_berth "$@"
)sh";

constexpr char kFish[] = R"sh(# fish completion for berth
complete -c berth -f -n __fish_use_subcommand -a 'status list why up controller version completion'
complete -c berth -f -n '__fish_seen_subcommand_from why' -a "(kubectl get jobs -o name 2>/dev/null | string replace .batch '')"
complete -c berth -f -n '__fish_seen_subcommand_from status' -a "(kubectl get clusterqueues -o name 2>/dev/null | string replace -r '.*/' '')"
complete -c berth -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
)sh";

}  // namespace

std::string CompletionScript(const std::string& shell) {
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return kBash;
}

}  // namespace berth::cli
