# Template of a Homebrew formula. At a release @HOMEPAGE@, @URL@ and @SHA256@ become those of the source
# distribution, whose name holds the version, and
# `brew update-python-resources reame` writes the resources in the place of @RESOURCES@.
class Reame < Formula
  include Language::Python::Virtualenv

  desc "CPU-first, OpenAI-compatible server for language models"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cmake" => :build
  depends_on "python@3.13"

  # @RESOURCES@

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"reame", "completion", shells: [:bash, :zsh, :fish])
  end

  service do
    run [opt_bin/"reame", "serve"]
    keep_alive crashed: true
    environment_variables REAME_HOME: var/"reame"
    log_path var/"log/reame.log"
    error_log_path var/"log/reame.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/reame --version")
    assert_match "qwen2.5-0.5b", shell_output("#{bin}/reame list")
  end
end
