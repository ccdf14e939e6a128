# Gives login shells the variables of /etc/gluster-ml/agent.yaml (environment:), which the agent keeps
# in /run/gluster-ml/environment. That file is read line by line; nothing of it is run, and no mount
# is looked at: a mount that hangs must not keep anybody from logging in.
if [ -r /run/gluster-ml/environment ]; then
    while IFS= read -r gluster_ml_line; do
        case "${gluster_ml_line%%=*}" in
            '' | [!A-Z]* | *[!A-Z0-9_]* | PATH | LD_* | PYTHON* | ENV | BASH_ENV) continue ;;
        esac
        case "$gluster_ml_line" in
            *=/*) export "$gluster_ml_line" ;;
        esac
    done < /run/gluster-ml/environment
    unset gluster_ml_line
fi
